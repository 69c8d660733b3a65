// The fields of a key beyond its name and permissions, in sections that open.

import {
  Accordion,
  ActionIcon,
  Button,
  Group,
  NativeSelect,
  Stack,
  Switch,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core'
import { Plus, Trash2 } from 'lucide-react'
import { useEffect, useState } from 'react'
import { useRead } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import type { ServiceForm } from '../../components/form.ts'
import { NumberInput } from '../../components/number-input.tsx'
import { texts } from '../../texts.ts'
import { type KeyValues, toLocalInput } from './key-form.ts'

type Props = { form: ServiceForm<KeyValues> }
const PRESET_DAYS = [7, 30, 90, 365]
const MAX_NAMED_LIMITS = 5

/** The fields of each section, by their first part. */
const SECTIONS = {
  end: ['expiresAt'],
  places: ['ipAllowlist'],
  limits: ['rateLimit', 'rateLimits'],
  credits: ['credits'],
  about: ['owner', 'description'],
}

export function MoreKeyFields({ form }: Props) {
  const [opened, setOpened] = useState<string[]>([])
  const { errors } = form
  // A fault in a section that is closed would not be seen.
  useEffect(() => {
    const wrong = Object.keys(errors).map((field) => field.split('.')[0] as string)
    const faulty = Object.entries(SECTIONS).filter(([, fields]) => fields.some((field) => wrong.includes(field)))
    if (faulty.length > 0) setOpened((before) => [...new Set([...before, ...faulty.map(([name]) => name)])])
  }, [errors])
  return (
    <Accordion multiple variant="separated" value={opened} onChange={setOpened}>
      {(
        [
          ['end', <EndFields key="end" form={form} />],
          ['places', <PlaceFields key="places" form={form} />],
          ['limits', <LimitFields key="limits" form={form} />],
          ['credits', <CreditFields key="credits" form={form} />],
          ['about', <AboutFields key="about" form={form} />],
        ] as const
      ).map(([name, fields]) => (
        <Accordion.Item key={name} value={name}>
          <Accordion.Control>
            <Text size="sm" fw={600}>
              {texts.keys.sections[name].title}
            </Text>
            <Text size="sm" c="dimmed">
              {texts.keys.sections[name].help}
            </Text>
          </Accordion.Control>
          <Accordion.Panel>{fields}</Accordion.Panel>
        </Accordion.Item>
      ))}
    </Accordion>
  )
}

function EndFields({ form }: Props) {
  const inDays = (days: number) => toLocalInput(new Date(Date.now() + days * 86_400_000))
  return (
    <Stack>
      <TextInput type="datetime-local" label={texts.keys.expiresAt} {...form.getInputProps('expiresAt')} />
      <Group gap="xs">
        {PRESET_DAYS.map((days) => (
          <Button key={days} size="xs" variant="default" onClick={() => form.setFieldValue('expiresAt', inDays(days))}>
            {texts.keys.inDays(days)}
          </Button>
        ))}
        <Button size="xs" variant="default" onClick={() => form.setFieldValue('expiresAt', '')}>
          {texts.keys.noEnd}
        </Button>
      </Group>
    </Stack>
  )
}

function PlaceFields({ form }: Props) {
  const sessions = useRead(['sessions'], (options) => sk.sessions.list({}, options).toArray({ max: 100 })).data
  const address = sessions?.find(({ current }) => current)?.ip
  const add = () => {
    const now = form.getValues().ipAllowlist.trim()
    form.setFieldValue('ipAllowlist', now ? `${now}\n${address}` : (address ?? ''))
  }
  return (
    <Stack align="flex-start">
      <Textarea
        w="100%"
        autosize
        minRows={2}
        label={texts.keys.ipAllowlist}
        description={texts.keys.ipAllowlistHelp}
        {...form.getInputProps('ipAllowlist')}
      />
      {address && (
        <Button size="xs" variant="default" onClick={add}>
          {texts.keys.addMyAddress(address)}
        </Button>
      )}
    </Stack>
  )
}

function LimitFields({ form }: Props) {
  const { rateLimits } = form.getValues()
  return (
    <Stack>
      <Group grow align="flex-start">
        <NumberInput min={1} label={texts.keys.limit} {...form.getInputProps('rateLimit.limit')} />
        <NumberInput min={1} label={texts.keys.windowSeconds} {...form.getInputProps('rateLimit.windowSeconds')} />
      </Group>
      {rateLimits.map((_, n) => (
        <Stack key={n} gap="xs">
          <Group align="flex-end" wrap="nowrap">
            <TextInput flex={1} label={texts.keys.limitName} {...form.getInputProps(`rateLimits.${n}.name`)} />
            <ActionIcon
              variant="default"
              size={36}
              aria-label={texts.keys.removeLimit}
              onClick={() => form.removeListItem('rateLimits', n)}
            >
              <Trash2 size={16} aria-hidden />
            </ActionIcon>
          </Group>
          <Group grow align="flex-start">
            <NumberInput min={1} label={texts.keys.limit} {...form.getInputProps(`rateLimits.${n}.limit`)} />
            <NumberInput
              min={1}
              label={texts.keys.windowSeconds}
              {...form.getInputProps(`rateLimits.${n}.windowSeconds`)}
            />
          </Group>
          <Switch label={texts.keys.shared} {...form.getInputProps(`rateLimits.${n}.shared`, { type: 'checkbox' })} />
        </Stack>
      ))}
      {rateLimits.length < MAX_NAMED_LIMITS && (
        <Group>
          <Button
            size="xs"
            variant="default"
            leftSection={<Plus size={14} aria-hidden />}
            onClick={() => form.insertListItem('rateLimits', { name: '', limit: '', windowSeconds: 60, shared: false })}
          >
            {texts.keys.addLimit}
          </Button>
        </Group>
      )}
    </Stack>
  )
}

function CreditFields({ form }: Props) {
  const { interval } = form.getValues().credits
  return (
    <Stack>
      <NumberInput
        min={0}
        label={texts.keys.remaining}
        description={texts.keys.remainingHelp}
        {...form.getInputProps('credits.remaining')}
      />
      <Group grow align="flex-start">
        <NativeSelect
          label={texts.keys.refill}
          data={[{ value: '', label: texts.keys.noRefill }, ...texts.keys.intervals]}
          {...form.getInputProps('credits.interval')}
        />
        {interval !== '' && (
          <NumberInput min={1} label={texts.keys.refillAmount} {...form.getInputProps('credits.amount')} />
        )}
        {interval === 'MONTH' && (
          <NumberInput min={1} max={31} label={texts.keys.dayOfMonth} {...form.getInputProps('credits.dayOfMonth')} />
        )}
      </Group>
    </Stack>
  )
}

function AboutFields({ form }: Props) {
  return (
    <Stack>
      <TextInput label={texts.keys.owner} description={texts.keys.ownerHelp} {...form.getInputProps('owner')} />
      <Textarea autosize minRows={2} label={texts.keys.description} {...form.getInputProps('description')} />
    </Stack>
  )
}
