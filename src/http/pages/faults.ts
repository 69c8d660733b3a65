// The codes of single faults, in the `errors` of a 422, and of the warnings of an address: what each means and what to do.
// Their pages stand beside those of the errors. A test finds every code of the source here.

export type FaultRow = { title: string; help: string }

export const FAULTS: Record<string, FaultRow> = {
  required: {
    title: 'A required field is missing',
    help: 'Send the field that "pointer" names. In an address, which fields are required depends on the country: GET /v1/countries/{code} lists them.',
  },
  unknown_member: {
    title: 'Unknown field or parameter',
    help: 'There is no such field or parameter here. Check the spelling, or leave it out. If "suggestion" is there, it is the one that was probably meant.',
  },
  invalid_type: {
    title: 'Wrong JSON type',
    help: 'Send the type that "detail" names: a string in quotes, a number without them, true or false, a list or an object.',
  },
  unknown_value: {
    title: 'Not one of the allowed values',
    help: 'Send one of the values that "detail" lists. Upper and lower case differ. If "suggestion" is there, it is the one that was probably meant.',
  },
  too_short: { title: 'Too short', help: 'Send at least as many characters or entries as "detail" says.' },
  too_long: { title: 'Too long', help: 'Send at most as many characters or entries as "detail" says.' },
  too_small: { title: 'Number too small', help: 'Send a number within the bounds that "detail" names.' },
  too_large: { title: 'Number too large', help: 'Send a number within the bounds that "detail" names.' },
  wrong_code: {
    title: 'Wrong code',
    help: 'The code is not the current code of your authenticator app. Check the clock of the device, and send the code the app shows now.',
  },
  passkey_not_accepted: {
    title: 'Passkey not accepted',
    help: 'The passkey was already added, or its response does not match the options, or is too old. Request new options and try again with the same browser or device.',
  },
  repeated: { title: 'Repeated entry', help: 'The list has the same entry twice. Send each entry once.' },
  invalid_characters: {
    title: 'Invisible or control characters',
    help: '"detail" names the character, such as U+202E. Remove it, or type the text again instead of pasting it.',
  },
  invalid_time: {
    title: 'Invalid timestamp',
    help: 'Send an RFC 3339 timestamp with a time zone, such as 2027-01-31T12:00:00Z.',
  },
  invalid_format: { title: 'Invalid format', help: 'Send a value of the form that "detail" describes.' },
  invalid_email: {
    title: 'Invalid e-mail address',
    help: 'Send an address such as ada@example.com, without a name or brackets.',
  },
  mixed_scripts: {
    title: 'Mixed scripts in an e-mail address',
    help: 'The part before the @ mixes letters of different scripts, such as Latin and Cyrillic, which look alike. Use one script.',
  },
  too_common: {
    title: 'Password too common',
    help: 'The password is among those that attackers try first, or resembles the e-mail address. Choose another: a few unrelated words are good.',
  },
  duplicate: {
    title: 'Duplicate external id',
    help: 'The import has this external id on an earlier line. Send each customer once per request.',
  },
  not_a_customer: {
    title: 'Not a customer of this store',
    help: 'An external id can only be linked to a user who has the role CUSTOMER in this store.',
  },
  contradiction: {
    title: 'Contradicting fields',
    help: 'Two fields, or two values, exclude each other. Send only one of those that "detail" names.',
  },
  unknown_permission: {
    title: 'Unknown permission',
    help: 'There is no such permission. GET /v1/permissions lists them, with those that the operator has added. If "suggestion" is there, it is the one that was probably meant.',
  },
  owner_holds_all: {
    title: 'Owners hold every permission',
    help: 'Permissions cannot be set for an owner. Leave them out, or choose another role.',
  },
  not_in_past: { title: 'Not in the past', help: 'Send a timestamp that has passed.' },
  not_in_future: { title: 'Not in the future', help: 'Send a timestamp that is still to come.' },
  too_far: { title: 'Too far ahead', help: 'Send an earlier timestamp: "detail" says how far ahead it may be.' },
  not_before: { title: 'The beginning is not before the end', help: 'Send a "from" that is earlier than "to".' },
  invalid_cidr: {
    title: 'Invalid IP address or network',
    help: 'Send an IPv4 or IPv6 address, or a network such as 203.0.113.0/24.',
  },
  invalid_ip: { title: 'Invalid IP address', help: 'Send an IPv4 or IPv6 address, such as 203.0.113.7.' },
  unknown_type: {
    title: 'Unknown event type',
    help: 'No event of a store has this type. Send a type such as key.created, the beginning of one (key.*), or *.',
  },
  invalid_url: { title: 'Invalid URL', help: 'Send an absolute URL, such as https://shop.example/hooks.' },
  https_required: { title: 'HTTPS required', help: 'Send a URL that begins with https://.' },
  credentials_in_url: {
    title: 'Credentials in a URL',
    help: 'Remove the user name and password from the URL. To tell our requests from others, check their signature.',
  },
  forbidden_port: {
    title: 'Port not allowed',
    help: 'The port belongs to another protocol. Use 443, or another port for HTTPS.',
  },
  forbidden_address: {
    title: 'Not a public address',
    help: 'Webhooks are only sent to the public internet. To try them on your own machine, the operator sets WEBHOOK_ALLOW_PRIVATE=on.',
  },
  too_many_members: {
    title: 'Too many fields in metadata',
    help: 'Send fewer fields: "detail" says how many there may be.',
  },
  too_deep: { title: 'Metadata nested too deeply', help: 'Send fewer levels: "detail" says how many there may be.' },
  unsafe_number: {
    title: 'Number that cannot be stored exactly',
    help: 'Send the number as a string, or round it: JSON numbers are exact up to 9,007,199,254,740,991.',
  },
  name_required: { title: 'Name or company required', help: 'Send a first name, a last name or a company.' },
  unknown_country: {
    title: 'Unknown country',
    help: 'Send an ISO 3166 code such as US or USA, or the name in English or in a language of the country. GET /v1/countries lists them. If "suggestion" is there, it is the code of the one that was probably meant.',
  },
  unknown_state: {
    title: 'Unknown state, province or region',
    help: 'Send one of the "subdivisions" of GET /v1/countries/{code}, by code or name. If "suggestion" is there, it is the code of one that was probably meant.',
  },
  invalid_postal_code: {
    title: 'Invalid postal code',
    help: 'The code does not have the form that the country uses. "example" shows one that would do.',
  },
  postal_code_state_mismatch: {
    title: 'The postal code belongs to another state',
    help: 'Check both. In countries where the first digits settle the state this is a fault; elsewhere it is a warning, and the address is accepted.',
  },
  invalid_phone: {
    title: 'Invalid phone number',
    help: 'Send the number as it is dialled in the country of the address, or with a plus sign and its country code. It is optional.',
  },
  unrecognized_state: {
    title: 'Unrecognized state or region',
    help: 'A warning: the text is kept as it was sent. If "suggestion" is there, it is the code of one that was probably meant.',
  },
  postal_code_not_used: {
    title: 'The country has no postal codes',
    help: 'A warning: the text is kept as it was sent. It can usually be left out.',
  },
  postal_code_missing: {
    title: 'Postal code missing',
    help: 'A warning: the country has postal codes, and mail arrives faster with one. Ask for it.',
  },
  postal_code_of_neighbour: {
    title: 'Looks like a postal code of another country',
    help: 'A warning: ask whether the country is right.',
  },
  po_box: {
    title: 'Post-office box',
    help: 'A warning: mail arrives there, but parcel services do not deliver. Ask for a street if you ship parcels.',
  },
  phone_of_another_country: {
    title: 'Phone number of another country',
    help: 'A warning: nothing needs to be done if the number is right.',
  },
  invalid_tax_id: {
    title: 'The tax number does not look right',
    help: 'A warning: it has none of the forms published in the country, or a wrong check digit. Ask for it again; it is kept as it was sent.',
  },
  markup: {
    title: 'Markup in a name',
    help: 'A warning: the text holds something like an HTML tag. Escape it wherever you show it.',
  },
  no_letters: {
    title: 'No letters',
    help: 'A warning: a name or a city without a letter, or a street that is only a number. Ask whether it is right.',
  },
}
