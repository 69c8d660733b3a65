/**
 * Whether a line of an address is a post-office box, in the words of the countries' own languages. A word stands alone
 * and not within another one: "Boxhagener Straße" is a street.
 */
export function isPostOfficeBox(line: string, country: string | null): boolean {
  return BOX.test(line) || (country !== null && (SHORT[country]?.test(line) ?? false))
}

const alone = (words: string[]) => `(?<![\\p{L}\\p{N}])(?:${words.join('|')})(?![\\p{L}])`

/** The word alone tells. Blanks and points between letters may be there or not. */
const WORDS = [
  'p\\.? ?o\\.? ?box|p\\.? ?o\\.? ?b\\.?(?= ?\\d)|g\\.? ?p\\.? ?o\\.? box|post(?:al)? (?:office )?box|locked bag|private (?:mail ?)?bag', // English
  'postfach', // German
  'bo[iî]te postale|b\\.? ?p\\.?(?= ?\\d)|case postale', // French
  'casella postale|chascha postala', // Italian, Romansh
  'apartado|apdo|apartat de correus|casilla(?= (?:de correos?|postal|n|\\d))|posta-kutxa', // Spanish, Catalan, Basque
  'caixa postal|cx\\.? postal', // Portuguese
  'postbus|posbus', // Dutch, Afrikaans
  'postboks|postbox|p[oó]sth[oó]lf|postrúm', // Danish, Norwegian, Swedish, Icelandic, Faroese
  'postilokero|postkast|abonenta kast[iī]te|pa[sš]to d[eė][zž]ut[eė]', // Finnish, Estonian, Latvian, Lithuanian
  'skrytka pocztowa|skr\\.? ?poczt\\.?', // Polish
  'po[sš]tovn[ií] p[rř]ihr[aá]dka|po[sš]tov[yý] prie[cč]inok', // Czech, Slovak
  'postafi[oó]k|c[aă]su[tțţ]a po[sșş]tal[aă]', // Hungarian, Romanian
  'po[sš]tanski (?:pretinac|fah)|po[sš]tni predal|kutia postare', // Croatian, Serbian, Bosnian, Slovene, Albanian
  'posta kutusu|po[cç]t qutusu', // Turkish, Azerbaijani
  'h[oò]m th[uư]|h[oộ]p th[uư]|kotak pos|peti (?:surat|pos)', // Vietnamese, Indonesian, Malay
  's\\.? ?l\\.? ?p\\.?(?= ?\\d)|sanduku la posta', // Swahili
  'bosca (?:poist|oifige? an phoist)|blwch post|kaxxa postali|pouaka pout[aā]peta', // Irish, Welsh, Maltese, Māori
  'абонентский ящик|а\\/[яс]|абонентська скринька|абанентская скрыня', // Russian, Ukrainian, Belarusian
  'пощенска кутия|п\\.? ?к\\.?(?= ?\\d)|поштански (?:фах|преградак)|поштенски фах', // Bulgarian, Serbian, Macedonian
  'ш\\/х|шуудангийн хайрцаг|а\\/ж', // Mongolian, Kazakh
  'Τ\\.? ?Θ\\.?(?= ?\\d)|ταχυδρομικ[ηή] θυρ[ιί]δα', // Greek
  'ص\\.? ?ب\\.?|صندوق (?:ال)?بريد|صندوق پستی|پوسٹ ب[اک]کس', // Arabic, Persian, Urdu
  "ת[.\"״']?ד[.']?(?= ?\\d)|תיבת דואר", // Hebrew
  'ፖ\\.? ?ሳ\\.? ?ቁ\\.?|საფოსტო ყუთი|փոստարկղ', // Amharic, Georgian, Armenian
]

/** Scripts without blanks between words, and signs that are no letters: anywhere in the line. */
const ANYWHERE = [
  'पो(?:स्ट|ष्ट) ?(?:बॉ?क्स|बाक्स)|পোস্ট ?বক্স|அஞ்சல் ?பெட்டி|තැ\\.? ?පෙ\\.?', // Hindi, Nepali, Bengali, Tamil, Sinhala
  'ตู้ ?(?:ป\\.? ?ณ\\.?|ไปรษณีย์)|ຕູ້ ?ປ\\.? ?ນ|ប្រអប់សំបុត្រ|စာတိုက်သေတ္တာ', // Thai, Lao, Khmer, Burmese
  '信箱|邮箱|郵箱|私書箱|사서함', // Chinese, Japanese, Korean
]

const BOX = new RegExp(`${alone(WORDS)}|${ANYWHERE.join('|')}`, 'iu')

const short = (words: string) => new RegExp(`(?<![\\p{L}\\p{N}])(?:${words})\\.?(?= ?\\d)`, 'iu')
const PF = short('pf')
const CASE = short('c\\.? ?p')
const PREDAL = short('p\\.? ?p')

/** What is a box in one country only, and before a number: "PL 12" is a box in Finland, "Box 12" in Sweden. */
const SHORT: Record<string, RegExp> = {
  AT: PF,
  BA: PREDAL,
  BR: CASE,
  CH: short('pf|c\\.? ?p'),
  CO: short('a\\.? ?a'),
  CZ: short('p\\.? ?p'),
  DE: PF,
  FI: short('pl|pb|box'),
  HR: PREDAL,
  HU: PF,
  IT: CASE,
  LT: short('a\\/d'),
  LV: short('a\\/k'),
  ME: PREDAL,
  MK: PREDAL,
  NO: short('pb'),
  RO: CASE,
  RS: PREDAL,
  SE: short('box'),
  SI: PREDAL,
  SK: PREDAL,
  TR: short('p\\.? ?k'),
}
