// After the account was erased: what is left of what it made.

import { Alert, Button, List, Text } from '@mantine/core'
import type { ErasedUser } from '@storekeeper/client'
import { paths } from '../../app/paths.ts'
import { queryClient } from '../../app/query.ts'
import { texts } from '../../texts.ts'
import { Narrow } from '../ways-in/narrow.tsx'

/** Where the receipt is kept for this page: in memory alone. */
export const RECEIPT = ['erased']

export default function ErasedPage() {
  const receipt = queryClient.getQueryData<ErasedUser>(RECEIPT)
  const left = [
    ...(receipt?.keys ?? []).filter(({ status }) => status === 'ACTIVE').map(({ id, name }) => ({ id, name })),
    ...(receipt?.webhooks ?? []).filter(({ enabled }) => enabled).map(({ id, url }) => ({ id, name: url ?? id })),
  ]
  return (
    <Narrow title={texts.account.erasedTitle}>
      <Alert color="green" role="status">
        {texts.account.erased}
      </Alert>
      {left.length > 0 && (
        <div>
          <Text size="sm">{texts.account.stillWorks}</Text>
          <List size="sm">
            {left.map(({ id, name }) => (
              <List.Item key={id} className="breaks">
                {name}
              </List.Item>
            ))}
          </List>
        </div>
      )}
      {receipt && receipt.held.length > 0 && <Text size="sm">{texts.account.held(receipt.held.length)}</Text>}
      {/* The page of the account that is gone is nobody else's: the next one is loaded. */}
      <Button variant="default" component="a" href={paths.signIn}>
        {texts.signIn.title}
      </Button>
    </Narrow>
  )
}
