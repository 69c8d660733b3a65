export function build(options?: { ifPossible?: boolean; failure?: number }): void
