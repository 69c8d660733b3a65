// Colours with the contrast that WCAG 2.2 AA asks for, in both schemes; Mantine's own miss it for dimmed, red and yellow.

import { type CSSVariablesResolver, createTheme } from '@mantine/core'

export const theme = createTheme({
  primaryColor: 'indigo',
  primaryShade: 8,
  autoContrast: true,
  luminanceThreshold: 0.35,
  defaultRadius: 'md',
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace',
  headings: { fontWeight: '650' },
  respectReducedMotion: true,
  components: {
    Badge: { defaultProps: { tt: 'none', radius: 'sm' } },
    Paper: { defaultProps: { radius: 'md' } },
    NavLink: { defaultProps: { variant: 'light' } },
  },
})

/** The text of light badges and buttons, one shade darker (in the dark scheme: lighter) than Mantine's. */
const LIGHT_TEXT = ['red', 'yellow', 'orange', 'green', 'teal', 'blue', 'indigo', 'gray'] as const

export const cssVariables: CSSVariablesResolver = ({ colors }) => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': '#5c636a',
    '--mantine-color-placeholder': '#6b7178',
    '--mantine-color-error': colors.red[9],
    '--mantine-color-red-outline': colors.red[9],
    '--mantine-color-anchor': colors.indigo[9],
    ...Object.fromEntries(
      LIGHT_TEXT.map((name) => [
        `--mantine-color-${name}-light-color`,
        name === 'yellow' || name === 'orange' ? '#7a4300' : `color-mix(in srgb, ${colors[name][9]} 85%, black)`,
      ]),
    ),
  },
  dark: {
    '--mantine-color-dimmed': '#a6adb4',
    '--mantine-color-placeholder': '#9aa1a8',
    '--mantine-color-error': colors.red[4],
    '--mantine-color-anchor': colors.indigo[3],
    ...Object.fromEntries(LIGHT_TEXT.map((name) => [`--mantine-color-${name}-light-color`, colors[name][2]])),
  },
})
