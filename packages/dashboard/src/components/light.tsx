// The few components of the ways in. Those of Mantine bring an engine for their styles that weighs more than all the rest of
// the sign-in; these are elements with a class, in the colours and sizes of Mantine's variables (light.css).

import { type ComponentProps, type ReactNode, useId, useState } from 'react'

type FieldProps = Omit<ComponentProps<'input'>, 'className' | 'id'> & {
  label: string
  description?: ReactNode
  error?: ReactNode
  /** Beside the text, within the field. */
  action?: ReactNode
}

export function Field({ label, description, error, action, ...input }: FieldProps) {
  const id = useId()
  const described = [description && `${id}-description`, error && `${id}-error`].filter(Boolean).join(' ')
  return (
    <div className="light-field">
      <label htmlFor={id}>{label}</label>
      {description && (
        <span className="light-hint" id={`${id}-description`}>
          {description}
        </span>
      )}
      <span className="light-input">
        <input {...input} id={id} aria-invalid={error ? true : undefined} aria-describedby={described || undefined} />
        {action}
      </span>
      {error && (
        <span className="light-error" id={`${id}-error`}>
          {error}
        </span>
      )}
    </div>
  )
}

/** `toggle` names the button that shows what is typed. */
export function SecretField({ toggle, ...field }: Omit<FieldProps, 'type' | 'action'> & { toggle: string }) {
  const [shown, setShown] = useState(false)
  const action = (
    <button type="button" aria-label={toggle} aria-pressed={shown} onClick={() => setShown(!shown)}>
      <svg viewBox="0 0 24 24" aria-hidden="true">
        <path d="M2 12s3.6-7 10-7 10 7 10 7-3.6 7-10 7-10-7-10-7Z" />
        <circle cx="12" cy="12" r="3" />
        {shown && <path d="m4 4 16 16" />}
      </svg>
    </button>
  )
  return <Field {...field} type={shown ? 'text' : 'password'} action={action} />
}

type ButtonProps = ComponentProps<'button'> & { loading?: boolean; kind?: 'primary' | 'plain' }

export function LightButton({ kind = 'primary', loading = false, type = 'button', disabled, ...button }: ButtonProps) {
  return (
    <button
      {...button}
      // One of the three that a button has.
      type={type}
      className={`light-button light-${kind}`}
      disabled={disabled || loading}
      aria-busy={loading || undefined}
    />
  )
}

export function Notice({ tone, title, children }: { tone: 'bad' | 'good'; title?: string; children: ReactNode }) {
  return (
    <div className={`light-notice light-${tone}`} role={tone === 'bad' ? 'alert' : 'status'}>
      {title && <strong>{title}</strong>}
      {children}
    </div>
  )
}
