/** The mark of Storekeeper: a key in a square. */
export function Mark() {
  return (
    <svg className="mark" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" />
      <circle cx="11.5" cy="16" r="4.5" />
      <path d="M16 16h9.5v4.5M21 16v3.5" />
    </svg>
  )
}
