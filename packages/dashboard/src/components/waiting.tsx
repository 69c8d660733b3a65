import { Center, Loader } from '@mantine/core'
import { texts } from '../texts.ts'

/** While the script of a page is being loaded. */
export function Waiting() {
  return (
    <Center mih="40vh">
      <Loader aria-label={texts.app.loading} />
    </Center>
  )
}
