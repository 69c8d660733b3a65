/** As the `ref` of a field that appears: the work goes on in it. A constant, so that it is called once. */
export const focusOnMount = (field: HTMLElement | null): void => field?.focus()
