// What is made when it is first needed, such as a library that is loaded then, and kept.

/** A failure is not kept: whoever needs it next tries again. */
export function lazy<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null
  return () => {
    made ??= make().catch((error: unknown) => {
      made = null
      throw error
    })
    return made
  }
}
