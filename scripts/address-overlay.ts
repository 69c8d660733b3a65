/**
 * What Google's address metadata and ISO 3166 have wrong, out of date or leave out. Each line says where it is from.
 * Later lines overrule earlier ones, member by member. "UPU" is the Universal Postal Union's addressing sheet of that country.
 * A line that refuses more than Google's pattern names where it was looked up: "Wikipedia" is the article "Postal codes in …"
 * of that country unless it says otherwise, "Wikipedia’s list" its "List of postal codes" as it stands in the notes of
 * detain/zip-zapper, Validator.php, and "Google" the postal codes that the metadata give to the country's states. Nothing is
 * refused on memory alone.
 */
export type Line = {
  /** One alpha-2 code, or several with a blank between. */
  country: string
  source: string
  format?: string
  latin?: string
  require?: string
  place?: string
  labels?: { city?: string; state?: string; postalCode?: string }
  familyFirst?: 'always' | 'local'
  mononyms?: true
  /** null: no postal codes. */
  postal?: { shapes?: string[]; pattern?: string; examples?: string[]; strip?: string[] } | null
  /** Only the first level of ISO 3166-2, or only the codes that match: nobody writes the rest, and it is long. */
  onlyStates?: 'first level' | RegExp
  /** Google's key of a state → its ISO 3166-2 code. The key stays an alias. */
  stateKeys?: Record<string, string>
  statePrefixes?: Record<string, string>
  /** ISO codes that are no subdivision of an address: groups of islands, territories that are countries here. */
  withoutStates?: string
  /** Google lists something else than ISO: leave it. */
  withoutGoogleStates?: true
  closed?: boolean
  print?: 'code'
  prefixes?: 'certain'
  /** States whose border post offices serve villages of a neighbour: a code of one of these is only unusual. */
  borders?: Record<string, string>
  neighbours?: [pattern: string, country: string][]
}

const GB_AREA_SHAPES = ['@# #@@', '@## #@@', '@@# #@@', '@@## #@@', '@#@ #@@', '@@#@ #@@']
const US_ZIP_SHAPES = ['#####', '#####-####']

export const overlay: Line[] = [
  // Postal codes: how they are spelt. The pattern is Google's unless one is given.
  {
    country: 'GB',
    source: 'Royal Mail, Programmers’ Guide to the Postcode Address File',
    postal: {
      shapes: [...GB_AREA_SHAPES, 'GIR 0AA', 'BFPO #', 'BFPO ##', 'BFPO ###', 'BFPO ####'],
      examples: ['SW1A 1AA', 'M2 5BQ'],
    },
  },
  {
    country: 'JE GG IM',
    source: 'Jersey Post, Guernsey Post, Isle of Man Post Office: the postcode areas JE, GY, IM',
    postal: { shapes: ['@@# #@@', '@@## #@@'] },
  },
  {
    country: 'US',
    source: 'USPS Publication 28; Google: no state has 000 to 004, the lowest ZIP code is 00501',
    postal: { shapes: US_ZIP_SHAPES, pattern: '(?:00[5-9]|0[1-9]\\d|[1-9]\\d{2})\\d{2}(?:-\\d{4})?' },
  },
  { country: 'AS FM GU MH MP PR PW VI', source: 'USPS Publication 28', postal: { shapes: US_ZIP_SHAPES } },
  {
    country: 'UM',
    source: 'USPS Publication 28: Wake Island and Midway are 96898',
    postal: { shapes: US_ZIP_SHAPES, pattern: '96898(?:-\\d{4})?' },
  },
  { country: 'CA', source: 'Canada Post, Addressing Guidelines', postal: { shapes: ['@#@ #@#'] } },
  {
    country: 'NL',
    source: 'PostNL, addressing guide: four digits, a blank, two letters',
    postal: { shapes: ['#### @@'] },
  },
  {
    country: 'FR',
    source: 'La Poste: five digits, written together; even 99 is in use: 99324 Paris Concours',
    postal: { shapes: ['#####'], pattern: '\\d{5}', strip: ['F'] },
  },
  {
    country: 'BL GF GP MF MQ NC PM RE WF YT',
    source: 'La Poste, codes postaux of the overseas departments and territories',
    postal: { shapes: ['#####'] },
  },
  { country: 'PF', source: 'OPT Polynésie française', postal: { shapes: ['#####'] } },
  { country: 'MC', source: 'La Poste Monaco: 98000 to 98099', postal: { shapes: ['#####'], pattern: '980\\d{2}' } },
  {
    country: 'SE',
    source: 'PostNord Sverige: three digits, a blank, two digits; Wikipedia’s list: 100 00 to 984 99',
    postal: { shapes: ['### ##'], pattern: '[1-9]\\d{2} \\d{2}', examples: ['114 55', '105 00'], strip: ['S'] },
  },
  {
    country: 'CZ',
    source: 'Česká pošta: three digits, a blank, two digits; Wikipedia: 1 to 7 first, the rest is Slovakia',
    postal: { shapes: ['### ##'], pattern: '[1-7]\\d{2} \\d{2}' },
  },
  {
    country: 'SK',
    source: 'Slovenská pošta: three digits, a blank, two digits; Wikipedia (Czech Republic): 8, 9 or 0 first',
    postal: { shapes: ['### ##'], pattern: '[089]\\d{2} \\d{2}' },
  },
  {
    country: 'GR',
    source: 'ELTA: three digits, a blank, two digits; German Wikipedia, Postleitzahl (Griechenland): 10 to 85',
    postal: { shapes: ['### ##'], pattern: '[1-8]\\d{2} \\d{2}' },
  },
  { country: 'PL', source: 'Poczta Polska', postal: { shapes: ['##-###'] } },
  {
    country: 'PT',
    source: 'CTT Correios de Portugal: seven digits since 1998; Wikipedia: nine regions, 1 to 9 first',
    postal: { shapes: ['####-###'], pattern: '[1-9]\\d{3}-\\d{3}', strip: ['P'] },
  },
  {
    country: 'BR',
    source: 'Correios, Guia técnico de endereçamento; Google: no state has 00',
    postal: { shapes: ['#####-###'], pattern: '(?:0[1-9]|[1-9]\\d)\\d{3}-\\d{3}', strip: ['CEP'] },
    labels: { postalCode: 'CEP' },
  },
  { country: 'JP', source: 'Japan Post', postal: { shapes: ['###-####'], strip: ['〒'] } },
  { country: 'LV', source: 'Latvijas Pasts', postal: { shapes: ['LV-####'] } },
  { country: 'LI', source: 'Liechtensteinische Post', postal: { shapes: ['####'] } },
  { country: 'AD', source: 'UPU', postal: { shapes: ['AD###'] } },
  {
    country: 'AI',
    source: 'UPU; Wikipedia’s list: AI-2640 for all',
    postal: { shapes: ['AI-####'], pattern: 'AI-2640', examples: ['AI-2640'] },
  },
  { country: 'BB', source: 'Barbados Postal Service', postal: { shapes: ['BB#####'] } },
  { country: 'VC', source: 'UPU', postal: { shapes: ['VC####'] } },
  { country: 'VG', source: 'UPU', postal: { shapes: ['VG####'] } },
  { country: 'KY', source: 'Cayman Islands Postal Service', postal: { shapes: ['KY#-####'] } },
  {
    country: 'MS',
    source: 'UPU; Wikipedia’s list: MSR 1110 to 1350',
    postal: { shapes: ['MSR ####'], pattern: 'MSR \\d{4}', examples: ['MSR 1110'] },
  },
  {
    country: 'LC',
    source: 'UPU; Wikipedia’s list: LC, two digits, two blanks, three digits; one blank here',
    postal: { shapes: ['LC## ###'], pattern: 'LC\\d{2} \\d{3}', examples: ['LC04 101'] },
  },
  { country: 'BM', source: 'Bermuda Post Office: HM 12 for streets, HM GX for boxes', postal: { shapes: ['@@ **'] } },
  { country: 'BN', source: 'UPU', postal: { shapes: ['@@####'] } },
  {
    country: 'MT',
    source: 'MaltaPost: three letters, a blank, four digits',
    postal: { shapes: ['@@@ ####', '@@@ ##', '@@@ ###'], examples: ['VLT 1117', 'BZN 1130'] },
  },
  {
    country: 'MU',
    source: 'Wikipedia: five digits, 1 to 9 first, A on Agaléga, R on Rodrigues; 742CU001 in the trial of 2002',
    postal: { shapes: ['#####', '@####', '###@@###'], pattern: '[1-9AR]\\d{4}|\\d{3}[A-Z]{2}\\d{3}' },
  },
  { country: 'SZ', source: 'UPU', postal: { shapes: ['@###'] } },
  { country: 'SO', source: 'UPU', postal: { shapes: ['@@ #####'] } },
  { country: 'LB', source: 'LibanPost', postal: { shapes: ['#### ####', '####'] } },
  { country: 'BH', source: 'UPU: the block number, three or four digits', postal: { shapes: ['###', '####'] } },
  {
    country: 'CR',
    source: 'Wikipedia’s list: five digits since 2007, four before, or 5+4; Google: also 3+4',
    postal: {
      shapes: ['#####', '####', '###-####', '#####-####'],
      pattern: '\\d{4}|\\d{5}(?:-\\d{4})?|\\d{3}-\\d{4}',
      examples: ['10101', '20101'],
    },
  },
  {
    country: 'KH',
    source: 'Cambodia Post: six digits since 2018, five before',
    postal: { shapes: ['######', '#####'] },
  },
  { country: 'TZ', source: 'Tanzania Posts Corporation', postal: { shapes: ['#####', '####'] } },
  {
    country: 'RS',
    source: 'Pošta Srbije: five digits, or the six of a PAK',
    postal: { shapes: ['#####', '######'], examples: ['11000', '106314'] },
  },
  {
    country: 'IL',
    source: 'Israel Post: seven digits since 2013, five before',
    postal: { shapes: ['#######', '#####'] },
  },
  { country: 'TW', source: 'Chunghwa Post: 3, 3+2 or 3+3 digits', postal: { shapes: ['###', '#####', '######'] } },
  {
    country: 'VN',
    source:
      'Vietnam Post: five digits since 2018, six before; postcode.vn, How to write: the code follows the province',
    require: 'ACS',
    postal: { shapes: ['#####', '######'] },
  },
  {
    country: 'AM',
    source: 'HayPost: four digits since 2006, six before',
    postal: { shapes: ['####', '######'], examples: ['0010', '0002'] },
  },
  { country: 'IR', source: 'Iran Post: ten digits, a hyphen in the middle', postal: { shapes: ['#####-#####'] } },
  {
    country: 'SA',
    source: 'Saudi Post, National Address: five digits and four additional ones',
    postal: { shapes: US_ZIP_SHAPES, pattern: '\\d{5}(?:-\\d{4})?', examples: ['11564', '12643-2121'] },
  },
  {
    country: 'KZ',
    source: 'Kazpost: six digits, or the seven characters of the new index',
    postal: {
      shapes: ['######', '@##@#@#'],
      pattern: '\\d{6}|[A-Z]\\d{2}[A-Z]\\d[A-Z]\\d',
      examples: ['050012', 'A15E3X4'],
    },
  },
  {
    country: 'EG',
    source: 'Egypt Post: seven digits since 2022, five before',
    postal: { shapes: ['#####', '#######'], pattern: '\\d{5}(?:\\d{2})?', examples: ['11599', '4460331'] },
  },
  {
    country: 'TT',
    source: 'TTPost; Wikipedia’s list: six digits',
    postal: { shapes: ['######'], pattern: '\\d{6}', examples: ['500234', '120110'] },
  },
  {
    country: 'SV',
    source: 'Google: four digits; "CP" before them is a label',
    postal: { shapes: ['####'], pattern: '[1-3][1-7][0-2]\\d', examples: ['1101', '2201'] },
  },
  {
    country: 'AR',
    source: 'Correo Argentino: the CPA, or the four digits of before 1999; Google: either end may be left out',
    postal: {
      shapes: ['@####@@@', '####', '@####', '####@@@'],
      pattern: '[A-HJ-NP-Z]?[1-9]\\d{3}(?:[A-Z]{3})?',
      examples: ['C1070AAM', '1425'],
    },
  },
  {
    country: 'PE',
    source: 'Serpost: five digits since 2011; "LIMA 23" before',
    postal: { shapes: ['#####', 'LIMA #', 'LIMA ##', 'CALLAO #', 'CALLAO ##'], examples: ['15001', 'LIMA 23'] },
  },
  {
    country: 'PA',
    source: 'Wikipedia’s list: four digits',
    postal: { shapes: ['####'], pattern: '\\d{4}', examples: ['0801', '0816'] },
  },
  {
    country: 'VE',
    source: 'Ipostel: four digits, in places a letter',
    postal: { shapes: ['####', '####-@'], pattern: '\\d{4}(?:-[A-Z])?', examples: ['1010', '1050-A'] },
  },
  {
    country: 'IE',
    source: 'Eircode, Prepare your business, page 11: letters A C D E F H K N P R T V W X Y; D6W is the one odd key',
    postal: {
      shapes: ['*** ****'],
      pattern: '(?:D6W|[AC-FHKNPRTV-Y]\\d{2}) [0-9AC-FHKNPRTV-Y]{4}',
      examples: ['A65 F4E2', 'D02 X285'],
    },
  },
  { country: 'GI', source: 'Royal Gibraltar Post Office: one code', postal: { shapes: ['GX11 1AA'] } },
  { country: 'FK', source: 'UPU: one code', postal: { shapes: ['FIQQ 1ZZ'] } },
  { country: 'GS', source: 'UPU: one code', postal: { shapes: ['SIQQ 1ZZ'] } },
  { country: 'IO', source: 'UPU: one code', postal: { shapes: ['BBND 1ZZ'] } },
  { country: 'PN', source: 'UPU: one code', postal: { shapes: ['PCRN 1ZZ'] } },
  { country: 'TC', source: 'UPU: one code', postal: { shapes: ['TKCA 1ZZ'] } },
  {
    country: 'SH',
    source: 'UPU: one code for each island',
    postal: { shapes: ['STHL 1ZZ', 'ASCN 1ZZ', 'TDCU 1ZZ'], pattern: '(?:STHL|ASCN|TDCU) 1ZZ' },
  },
  { country: 'VA', source: 'Poste Vaticane: one code', postal: { shapes: ['00120'] } },
  { country: 'SM', source: 'Poste San Marino: 47890 to 47899', postal: { shapes: ['#####'] } },
  { country: 'CC CX NF', source: 'Australia Post: one code each', postal: { shapes: ['####'] } },
  { country: 'AX', source: 'Åland Post: 22xxx', postal: { shapes: ['#####'] } },
  {
    country: 'GL',
    source: 'Tusass: 39xx, and 2412 for Father Christmas',
    postal: { shapes: ['####'], pattern: '39\\d{2}|2412' },
  },
  { country: 'ME', source: 'Pošta Crne Gore: 8xxxx', postal: { shapes: ['#####'] } },
  { country: 'XK', source: 'Posta e Kosovës', postal: { shapes: ['#####'] } },
  {
    country: 'OM',
    source: 'Oman Post: three digits, "PC" before them is a label',
    postal: { shapes: ['###'], pattern: '\\d{3}', strip: ['PC'] },
  },
  { country: 'CL', source: 'Correos de Chile: seven digits', postal: { shapes: ['#######'] } },
  {
    country: 'DE',
    source: 'hoertkorn-versandservice.de, Postleitzahlen Deutschland: 01… to 99998; "D-" was written until 1993',
    postal: { shapes: ['#####'], pattern: '(?:0[1-9]|[1-9]\\d)\\d{3}', strip: ['D'] },
  },
  {
    country: 'AT',
    source: 'Austria-Forum, Postleitzahlen: 1 Vienna to 9 Carinthia',
    postal: { shapes: ['####'], pattern: '[1-9]\\d{3}', strip: ['A'] },
  },
  {
    country: 'CH',
    source: 'Wikipedia: nine districts, 1 to 9 first',
    postal: { shapes: ['####'], pattern: '[1-9]\\d{3}' },
  },
  {
    country: 'IT',
    source: 'Poste Italiane; Google: no province has 99',
    postal: { shapes: ['#####'], pattern: '(?:[0-8]\\d|9[0-8])\\d{3}', strip: ['I'] },
  },
  {
    country: 'ES',
    source: 'Correos; Google: the first two digits are one of 52 provinces',
    postal: { shapes: ['#####'], pattern: '(?:0[1-9]|[1-4]\\d|5[0-2])\\d{3}', strip: ['E'] },
  },
  {
    country: 'BE',
    source: 'bpost: four digits; vrt.be: even 0612, Saint Nicholas, is in use',
    postal: { shapes: ['####'], strip: ['B'] },
  },
  { country: 'NO', source: 'Posten Norge', postal: { strip: ['N'] } },
  {
    country: 'HU',
    source: 'Wikipedia: 1 Budapest to 9 Győr',
    postal: { shapes: ['####'], pattern: '[1-9]\\d{3}', strip: ['H'] },
  },
  {
    country: 'SI',
    source: 'Pošta Slovenije: four digits; which come first was not found',
    postal: { shapes: ['####'], strip: ['SLO'] },
  },
  {
    country: 'BG',
    source: 'Wikipedia: 1 Sofia to 9 Varna',
    postal: { shapes: ['####'], pattern: '[1-9]\\d{3}' },
  },
  {
    country: 'LU',
    source: 'Wikipedia: 1 to 9 are regions, 0 a PackUp station: 0161 is one in the city',
    postal: { shapes: ['####'] },
  },
  { country: 'EE', source: 'Omniva: five digits; which come first was not found', postal: { shapes: ['#####'] } },
  {
    country: 'TH ID',
    source: 'Google (Thailand), Wikipedia (Indonesia): 1 to 9 first',
    postal: { shapes: ['#####'], pattern: '[1-9]\\d{4}' },
  },
  {
    country: 'TR',
    source: 'PTT; Google: the first two digits are one of 81 provinces; Wikipedia (Cyprus): 99 is the north of Cyprus',
    postal: { shapes: ['#####'], pattern: '(?:0[1-9]|[1-7]\\d|8[01]|99)\\d{3}' },
  },
  {
    country: 'MX',
    source: 'Correos de México: five digits; Wikipedia’s list: 00 to 16 are boroughs of the capital',
    postal: { shapes: ['#####'] },
  },
  {
    country: 'IN',
    source: 'India Post; validator.js, isPostalCode: 1 to 9 first',
    postal: { shapes: ['######'], pattern: '[1-9]\\d{5}' },
  },
  {
    country: 'RU',
    source: 'Почта России; Google: no region begins with 0, 7, 8 or 9',
    postal: { shapes: ['######'], pattern: '[1-6]\\d{5}', examples: ['101000'] },
  },
  {
    country: 'MF',
    source: 'La Poste: 97150; Google takes more, and so do we: great users have codes of their own',
    postal: { shapes: ['#####'], examples: ['97150'] },
  },
  {
    country: 'KR',
    source: 'Google: no state has 64 or more',
    postal: { shapes: ['#####'], pattern: '[0-6]\\d{4}' },
  },
  {
    country: 'AU',
    source: 'everything2, Australian postcodes; Google: 0200 to 0299 and 0800 to 9999',
    postal: { shapes: ['####'], pattern: '(?:0[289]|[1-9]\\d)\\d{2}' },
  },
  {
    country: 'SG',
    source:
      'URA, list of postal districts: the first two digits are one of the sectors 01 to 82; "S" before them is a label',
    postal: { shapes: ['######'], pattern: '(?:0[1-9]|[1-7]\\d|8[0-2])\\d{4}', strip: ['S'] },
  },

  {
    country: 'PY',
    source: 'DINACOPA: six digits since 2018, four before',
    postal: { shapes: ['####', '######'], pattern: '\\d{4}(?:\\d{2})?', examples: ['1209', '001001'] },
  },
  {
    country: 'MM',
    source: 'Myanmar Post: seven digits since 2021, five before',
    postal: { shapes: ['#####', '#######'], pattern: '\\d{5}(?:\\d{2})?', examples: ['11181', '1101001'] },
  },
  {
    country: 'HN',
    source: 'Honducor: five digits; two letters and four digits before',
    postal: { shapes: ['#####', '@@####'], pattern: '\\d{5}|[A-Z]{2}\\d{4}', examples: ['11101', 'FM1100'] },
  },
  // What the label looks like. A small letter is a field the country does not write itself, in the place where it is looked for.
  {
    country: 'US CA AU BR IT',
    source: 'USPS, Canada Post, Australia Post, Correios, Poste Italiane: the label has the state’s abbreviation',
    print: 'code',
  },
  {
    country: 'JP',
    source: 'Japan Post: postal code, prefecture, city, street, name; turned round in Latin letters',
    format: '〒%Z%n%S%C%n%A%n%O%n%N',
    latin: '%N%n%O%n%A%n%C, %S %Z',
  },
  { country: 'MO', source: 'CTT Macau: no city and no postal code', format: '%c%n%A%n%O%n%N', latin: '%N%n%O%n%A%n%c' },
  {
    country: 'SG',
    source: 'SingPost: "Singapore" and the postal code on the last line',
    format: '%N%n%O%n%A%n%c %Z',
    place: 'Singapore',
  },
  { country: 'GI', source: 'Royal Gibraltar Post Office', format: '%N%n%O%n%A%n%c%n%Z', place: 'Gibraltar' },
  { country: 'MC', source: 'La Poste Monaco: there is one town', require: 'A', place: 'Monaco' },
  { country: 'VA', source: 'Poste Vaticane: there is one town', require: 'A', place: 'Città del Vaticano' },
  { country: 'GN', source: 'UPU: the postal code stands before the locality', format: '%N%n%O%n%A%n%Z %C' },
  { country: 'CI', source: 'UPU: the locality on the last line', format: '%N%n%O%n%A%n%C' },
  { country: 'MZ', source: 'UPU', format: '%N%n%O%n%A%n%Z %C%n%S' },
  { country: 'KE', source: 'UPU: the postal code before the town', format: '%N%n%O%n%A%n%Z %C' },
  { country: 'TT', source: 'TTPost: the postal code on the last line', format: '%N%n%O%n%A%n%C%n%Z' },
  { country: 'MS LC', source: 'UPU', format: '%N%n%O%n%A%n%C %Z' },
  { country: 'PA', source: 'UPU: the postal code before the town', format: '%N%n%O%n%A%n%Z %C%n%S' },
  { country: 'IR', source: 'Iran Post: the postal code on the last line', format: '%O%n%N%n%S%n%C%n%A%n%Z' },
  {
    country: 'AS',
    source: 'USPS Publication 28: the territory’s abbreviation is the state',
    format: '%N%n%O%n%A%n%s%n%C AS %Z',
    require: 'ACZ',
  },
  {
    country: 'FM',
    source: 'USPS Publication 28: the state’s abbreviation is FM',
    format: '%N%n%O%n%A%n%s%n%C FM %Z',
    require: 'ACZ',
  },
  { country: 'GU', source: 'USPS Publication 28', format: '%N%n%O%n%A%n%s%n%C GU %Z' },
  {
    country: 'MH',
    source: 'USPS Publication 28: the state’s abbreviation is MH',
    format: '%N%n%O%n%A%n%s%n%C MH %Z',
    require: 'ACZ',
  },
  { country: 'MP', source: 'USPS Publication 28', format: '%N%n%O%n%A%n%s%n%C MP %Z', require: 'ACZ' },
  { country: 'PR', source: 'USPS Publication 28', format: '%N%n%O%n%A%n%s%n%C PR %Z' },
  {
    country: 'PW',
    source: 'USPS Publication 28: the state’s abbreviation is PW',
    format: '%N%n%O%n%A%n%s%n%C PW %Z',
    require: 'ACZ',
  },
  { country: 'VI', source: 'USPS Publication 28', format: '%N%n%O%n%A%n%s%n%C VI %Z', require: 'ACZ' },
  { country: 'UM', source: 'USPS Publication 28: no state is written beside UM', require: 'AC' },

  // What is required.
  { country: 'KY', source: 'Cayman Islands Postal Service: KY1, KY2 and KY3 already name the island', require: 'A' },
  { country: 'KN', source: 'UPU: the town already names the island', require: 'AC' },
  {
    country: 'HK',
    source: 'Post Office Guide: district and area; but on letters the one stands for both',
    require: 'AC',
  },
  { country: 'RU', source: 'On letters the town and its code do without the region', require: 'ACZ' },
  { country: 'PF', source: 'OPT Polynésie française: the postal code already names the island', require: 'ACZ' },

  // Names.
  {
    country: 'HU VN KH',
    source: 'The family name comes first in Hungarian, Vietnamese and Khmer',
    familyFirst: 'always',
  },
  {
    country: 'CN HK JP KP KR MO TW',
    source: 'The family name comes first in the country’s own script; in Latin letters both orders are met',
    familyFirst: 'local',
  },
  {
    country: 'AF BT ID MM',
    source: 'Many people have one name (ICAO Doc 9303 part 3, 4.2 lets a document have only a primary identifier)',
    mononyms: true,
  },
  { country: 'IN LK TL', source: 'Passports with one name are common', mononyms: true },

  // Words for the fields.
  {
    country: 'GB JE GG IM AU NZ NL',
    source: 'Royal Mail, Australia Post, NZ Post, PostNL: "postcode"',
    labels: { postalCode: 'Postcode' },
  },
  { country: 'PH', source: 'PHLPost: "ZIP code"', labels: { postalCode: 'ZIP code' } },
  {
    country: 'GB',
    source: 'Royal Mail: "post town"; the county is not needed',
    labels: { postalCode: 'Postcode', city: 'Post town', state: 'County' },
  },
  {
    country: 'NZ',
    source: 'NZ Post: "town or city"',
    labels: { postalCode: 'Postcode', city: 'Town or city', state: 'Region' },
  },
  { country: 'CA', source: 'Canada Post', labels: { city: 'Municipality', state: 'Province or territory' } },
  {
    country: 'AU',
    source: 'Australia Post',
    labels: { postalCode: 'Postcode', city: 'Suburb or town', state: 'State or territory' },
  },
  { country: 'CH', source: 'Die Post', labels: { state: 'Canton' } },
  { country: 'DE AT', source: 'The Länder', labels: { state: 'State' } },
  { country: 'PL', source: 'Województwa', labels: { state: 'Voivodeship' } },
  {
    country: 'SE NO DK FI HU HR RO EE LT',
    source: 'Län, fylke, region, maakunta, megye, županija, județ, maakond, apskritis',
    labels: { state: 'County or region' },
  },

  // States.
  {
    country: 'AZ BF CZ GN GW LT MA MH MW UG FJ',
    source: 'ISO 3166-2 has two levels; the second is not part of an address there',
    onlyStates: 'first level',
  },
  {
    country: 'DK',
    source: 'ISO 3166-2:DK: the regions of 2007; the list still has the counties before them',
    onlyStates: /^8\d$/,
  },
  { country: 'LU', source: 'ISO 3166-2:LU: the cantons; the districts ended in 2015', onlyStates: /^\w\w$/ },
  { country: 'EE', source: 'ISO 3166-2:EE: counties have two digits, municipalities three', onlyStates: /^\d\d$/ },
  { country: 'IS', source: 'ISO 3166-2:IS: regions have one digit, municipalities three letters', onlyStates: /^\d$/ },
  {
    country: 'CN',
    source: 'ISO 3166-2:CN of 2017; the numbers are GB/T 2260',
    stateKeys: {
      34: 'AH',
      92: 'MO',
      11: 'BJ',
      50: 'CQ',
      35: 'FJ',
      62: 'GS',
      44: 'GD',
      45: 'GX',
      52: 'GZ',
      46: 'HI',
      13: 'HE',
      41: 'HA',
      23: 'HL',
      42: 'HB',
      43: 'HN',
      22: 'JL',
      32: 'JS',
      36: 'JX',
      21: 'LN',
      15: 'NM',
      64: 'NX',
      63: 'QH',
      37: 'SD',
      14: 'SX',
      61: 'SN',
      31: 'SH',
      51: 'SC',
      71: 'TW',
      12: 'TJ',
      54: 'XZ',
      91: 'HK',
      65: 'XJ',
      53: 'YN',
      33: 'ZJ',
    },
  },
  {
    country: 'IN',
    source: 'ISO 3166-2 of November 2023 replaced CT, OR, TG and UT; they stay aliases',
    stateKeys: { CT: 'CG', OR: 'OD', TG: 'TS', UT: 'UK' },
  },
  { country: 'TW', source: 'ISO 3166-2:TW', stateKeys: { 金門縣: 'KIN', 連江縣: 'LIE' } },
  {
    country: 'RU',
    source: 'GOST 7.67; ISO 3166-2 lists both under UA',
    stateKeys: { 'Автономна Республіка Крим': 'CR', Севастополь: 'SEV' },
  },
  {
    country: 'BS CV',
    source: 'Google lists islands, ISO 3166-2 districts; what is neither is kept as written',
    withoutGoogleStates: true,
    closed: false,
  },
  { country: 'ID', source: 'ISO 3166-2:ID: geographical units, not provinces', withoutStates: 'JW KA ML NU PP SL SM' },
  { country: 'GB', source: 'ISO 3166-2:GB: groups of countries', withoutStates: 'EAW GBN UKM' },
  {
    country: 'NL',
    source: 'ISO 3166-2:NL: countries of the Kingdom with codes of their own',
    withoutStates: 'AW BQ1 BQ2 BQ3 CW SX',
  },
  { country: 'NO', source: 'ISO 3166-2 of 2024: the fylker split again on 1 January 2024', withoutStates: '30 38 54' },
  {
    country: 'KY',
    source: 'Wikipedia; caymanpost.gov.ky, Postcode Courses: KY1 Grand Cayman, KY2 Cayman Brac, KY3 Little Cayman',
    statePrefixes: { 'Grand Cayman': 'KY1', 'Cayman Brac': 'KY2', 'Little Cayman': 'KY3' },
  },
  {
    country: 'TR',
    source: 'Wikipedia (Cyprus): mail to the north of Cyprus is addressed to 99…, Mersin 10, Türkiye',
    statePrefixes: { 33: '33|99' },
  },

  // Postal codes held against the state.
  {
    country: 'BR',
    source: 'Wikipedia, Código de Endereçamento Postal: ranges are given to states',
    prefixes: 'certain',
  },
  {
    country: 'CA',
    source: 'Canada Post: the first letter is the province; Google: K1A, the government, is in Ontario and Quebec',
    prefixes: 'certain',
  },
  {
    country: 'MX',
    source: 'Wikipedia’s list: the first two digits are the state',
    prefixes: 'certain',
  },
  { country: 'TR', source: 'Wikipedia: the first two digits are the province', prefixes: 'certain' },
  {
    country: 'AU',
    source: 'everything2, Australian postcodes: the first digit is the state, but for towns near its border',
    prefixes: 'certain',
    borders: {
      ACT: 'NSW',
      JBT: 'ACT NSW',
      NSW: 'ACT JBT QLD SA VIC',
      NT: 'QLD SA WA',
      QLD: 'NSW NT SA',
      SA: 'NSW NT QLD VIC WA',
      VIC: 'NSW SA',
      WA: 'NT SA',
    },
  },
  {
    country: 'JP',
    source: 'Japan Post; Google: the first digits are the prefecture, but for villages near its border',
    prefixes: 'certain',
    borders: {
      '02': '03 05',
      '03': '02 04 05',
      '04': '03 05 06 07',
      '05': '02 03 04 06',
      '06': '04 05 07 15',
      '07': '04 06 08 09 10 15',
      '08': '07 09 11 12',
      '09': '07 08 10 11',
      '10': '07 09 11 15 20',
      '11': '08 09 10 12 13 19 20',
      '12': '08 11 13',
      '13': '11 12 14 19',
      '14': '13 19 22',
      '15': '06 07 10 16 20',
      '16': '15 17 20 21',
      '17': '16 18 21',
      '18': '17 21 25 26',
      '19': '11 13 14 20 22',
      '20': '10 11 15 16 19 21 22 23',
      '21': '16 17 18 20 23 24 25',
      '22': '14 19 20 23',
      '23': '20 21 22 24',
      '24': '21 23 25 26 29 30',
      '25': '18 21 24 26',
      '26': '18 24 25 27 28 29',
      '27': '26 28 29 30',
      '28': '26 27 31 33',
      '29': '24 26 27 30',
      '30': '24 27 29',
      '31': '28 32 33 34',
      '32': '31 34 35',
      '33': '28 31 34',
      '34': '31 32 33 35',
      '35': '32 34',
      '36': '37 38 39',
      '37': '36 38',
      '38': '36 37 39',
      '39': '36 38',
      '40': '41 43 44',
      '41': '40 42',
      '42': '41',
      '43': '40 44 45 46',
      '44': '40 43 45',
      '45': '43 44 46',
      '46': '43 45',
    },
  },
  {
    country: 'US',
    source:
      'Google: the first three digits are the state; mapofzipcodes.com, Can zip codes cross state lines: villages do',
    prefixes: 'certain',
    borders: {
      AL: 'FL GA MS TN',
      AR: 'LA MO MS OK TN TX',
      AZ: 'CA CO NM NV UT',
      CA: 'AZ NV OR',
      CO: 'AZ KS NE NM OK UT WY',
      CT: 'MA NY RI',
      DC: 'MD VA',
      DE: 'MD NJ PA',
      FL: 'AL GA',
      GA: 'AL FL NC SC TN',
      IA: 'IL MN MO NE SD WI',
      ID: 'MT NV OR UT WA WY',
      IL: 'IA IN KY MO WI',
      IN: 'IL KY MI OH',
      KS: 'CO MO NE OK',
      KY: 'IL IN MO OH TN VA WV',
      LA: 'AR MS TX',
      MA: 'CT NH NY RI VT',
      MD: 'DC DE PA VA WV',
      ME: 'NH',
      MI: 'IN OH WI',
      MN: 'IA ND SD WI',
      MO: 'AR IA IL KS KY NE OK TN',
      MS: 'AL AR LA TN',
      MT: 'ID ND SD WY',
      NC: 'GA SC TN VA',
      ND: 'MN MT SD',
      NE: 'CO IA KS MO SD WY',
      NH: 'MA ME VT',
      NJ: 'DE NY PA',
      NM: 'AZ CO OK TX UT',
      NV: 'AZ CA ID OR UT',
      NY: 'CT MA NJ PA VT',
      OH: 'IN KY MI PA WV',
      OK: 'AR CO KS MO NM TX',
      OR: 'CA ID NV WA',
      PA: 'DE MD NJ NY OH WV',
      RI: 'CT MA',
      SC: 'GA NC',
      SD: 'IA MN MT ND NE WY',
      TN: 'AL AR GA KY MO MS NC VA',
      TX: 'AR LA NM OK',
      UT: 'AZ CO ID NM NV WY',
      VA: 'DC KY MD NC TN WV',
      VT: 'MA NH NY',
      WA: 'ID OR',
      WI: 'IA IL MI MN',
      WV: 'KY MD OH PA VA',
      WY: 'CO ID MT NE SD UT',
    },
  },

  // Codes of a neighbour that the country's own pattern lets through.
  {
    country: 'GB',
    source: 'CLDR, postalCodeData.xml: areas JE, GY and IM',
    neighbours: [
      ['JE', 'JE'],
      ['GY', 'GG'],
      ['IM', 'IM'],
    ],
  },
  {
    country: 'US',
    source: 'Google and Wikipedia’s list: the codes of each territory',
    neighbours: [
      ['00[679]', 'PR'],
      ['008', 'VI'],
      ['96799', 'AS'],
      ['969[12]|9693[12]', 'GU'],
      ['9695', 'MP'],
      ['9694[1-4]', 'FM'],
      ['96939|96940', 'PW'],
      ['969[67]', 'MH'],
    ],
  },
  {
    country: 'FR',
    source: 'Wikipedia’s list; 977 and 978 are INSEE’s numbers of the two islands',
    neighbours: [
      ['980', 'MC'],
      ['97133|977', 'BL'],
      ['97150|978', 'MF'],
      ['971', 'GP'],
      ['972', 'MQ'],
      ['973', 'GF'],
      ['974', 'RE'],
      ['975', 'PM'],
      ['976', 'YT'],
      ['986', 'WF'],
      ['987', 'PF'],
      ['988', 'NC'],
    ],
  },
  {
    country: 'IT',
    source: 'CLDR, postalCodeData.xml',
    neighbours: [
      ['4789', 'SM'],
      ['00120', 'VA'],
    ],
  },
  { country: 'CH', source: 'Wikipedia’s list: 9485 to 9498', neighbours: [['948[5-9]|949[0-8]', 'LI']] },
  { country: 'FI', source: 'CLDR, postalCodeData.xml', neighbours: [['22', 'AX']] },
  { country: 'DK', source: 'CLDR, postalCodeData.xml', neighbours: [['39', 'GL']] },
  {
    country: 'NO',
    source: 'Posten Norge: 9170 Longyearbyen to 9178 Barentsburg, 8099 Jan Mayen',
    neighbours: [
      ['917', 'SJ'],
      ['8099', 'SJ'],
    ],
  },
  {
    country: 'AU',
    source: 'CLDR, postalCodeData.xml',
    neighbours: [
      ['6798', 'CX'],
      ['6799', 'CC'],
      ['2899', 'NF'],
    ],
  },
  {
    country: 'GP',
    source: 'Wikipedia’s list',
    neighbours: [
      ['97133|977', 'BL'],
      ['97150|978', 'MF'],
    ],
  },
  // What a code cannot begin with.
  {
    country: 'AF',
    source: 'UPU: the provinces are 10 to 43',
    postal: { shapes: ['####'], pattern: '(?:[1-3]\\d|4[0-3])\\d\\d' },
  },
  {
    country: 'BD',
    source: 'Wikipedia, Postal codes in Bangladesh: 1000 to 9499',
    postal: { shapes: ['####'], pattern: '(?:[1-8]\\d|9[0-4])\\d\\d' },
  },
  {
    country: 'BY',
    source: 'postal.codesofcountry.com: 210000 to 247995',
    postal: { shapes: ['######'], pattern: '2[1-4]\\d{4}' },
  },
  {
    country: 'BA',
    source: 'validator.js, the postal codes of Bosnia and Herzegovina: 7 and 8',
    postal: { shapes: ['#####'], pattern: '[78]\\d{4}' },
  },
  {
    country: 'BN',
    source: 'Wikipedia, Postal codes in Brunei: the districts are B, K, P and T',
    postal: { shapes: ['@@####'], pattern: '[BKPT][A-Z]\\d{4}' },
  },
  {
    country: 'FR',
    source: 'validator.js, the postal codes of France: there is no department 96',
    postal: { shapes: ['#####'], pattern: '(?:[0-8]\\d|9[0-57-9])\\d{3}', strip: ['F'] },
  },
  {
    country: 'IN',
    source: 'Wikipedia, Postal Index Number: 10, 29, 35, 54, 55, 65, 66 and 86 to 89 are no circle; 9 is the army',
    postal: { shapes: ['######'], pattern: '(?:1[1-9]|2[0-8]|3[0-46-9]|[479]\\d|5[0-36-9]|6[0-47-9]|8[0-5])\\d{4}' },
  },
  {
    country: 'UA',
    source: 'Wikipedia, Postal codes in Ukraine: 01 to 99',
    postal: { shapes: ['#####'], pattern: '(?:0[1-9]|[1-9]\\d)\\d{3}' },
  },
  {
    country: 'CO',
    source: '4-72: the first two digits are the department’s, by the numbers of DANE',
    postal: {
      shapes: ['######'],
      pattern: '(?:0[58]|1[135789]|2[0357]|4[147]|5[024]|6[368]|7[036]|8[1568]|9[14579])\\d{4}',
    },
  },
]

/** The languages of each country, for its names of itself. English is known everywhere. */
export const LANGUAGES: Record<string, string> = Object.fromEntries(
  `AD ca|AE ar|AF fa ps|AG en|AI en|AL sq|AM hy|AO pt|AQ en|AR es|AS en|AT de|AU en|AW nl|AX sv|AZ az|BA bs hr sr|BB en|BD bn|BE nl fr de|BF fr|BG bg|BH ar|BI fr|BJ fr
BL fr|BM en|BN ms|BO es|BQ nl|BR pt|BS en|BT en|BV nb|BW en|BY be ru|BZ en es|CA en fr|CC en|CD fr sw|CF fr|CG fr|CH de fr it|CI fr|CK en|CL es|CM fr en|CN zh ug|CO es|CR es|CU es|CV pt
CW nl|CX en|CY el tr|CZ cs|DE de|DJ fr ar so|DK da|DM en|DO es|DZ ar fr|EC es|EE et|EG ar|EH ar es|ER ar|ES es ca gl eu|ET am so|FI fi sv|FJ en hi|FK en|FM en|FO da|FR fr br|GA fr|GB en cy
GD en|GE ka|GF fr|GG en fr|GH en|GI en es|GL da|GM en|GN fr|GP fr|GQ es fr pt|GR el|GS en|GT es|GU en|GW pt|GY en|HK zh|HM en|HN es|HR hr|HT fr|HU hu|ID id|IE ga|IL he ar|IM en|IN hi bn mr ta ur ml|IO en
IQ ar ku|IR fa|IS is|IT it de|JE en fr|JM en|JO ar|JP ja|KE sw|KG ky ru|KH km|KI en|KM ar fr|KN en|KP ko|KR ko|KW ar|KY en|KZ kk ru|LA fr|LB ar fr|LC en|LI de|LK ta|LR en|LS en|LT lt|LU fr de|LV lv
LY ar|MA ar fr|MC fr|MD ro|ME sr|MF fr|MG fr|MH en|MK mk sq|ML fr|MM en|MN mn|MO zh pt|MP en|MQ fr|MR ar fr|MS en|MT mt|MU fr|MV dv|MW en|MX es|MY ms|MZ pt|NA en af de|NC fr|NE fr ha|NF en|NG ha
NI es|NL nl|NO nb nn|NP en|NR en|NU en|NZ en|OM ar|PA es|PE es|PF fr|PG en|PH en|PK ur sd|PL pl|PM fr|PN en|PR es|PS ar|PT pt|PW en|PY es|QA ar|RE fr|RO ro|RS sr|RU ru tt|RW fr sw|SA ar|SB en|SC fr|SD ar
SE sv|SG ms zh ta|SH en|SI sl|SJ nb|SK sk|SL en|SM it|SN fr|SO so ar|SR nl|SS en|ST pt|SV es|SX nl|SY ar ku|SZ en|TC en|TD fr ar|TF fr|TG fr|TH th|TJ tg ru|TK en|TL pt|TM tk ru|TN ar fr|TO en|TR tr ku|TT en
TV en|TW zh|TZ sw|UA uk|UG sw|UM en|US es|UY es|UZ uz ru|VA it|VC en|VE es|VG en|VI en|VN vi|VU fr|WF fr|WS en|XK sq sr|YE ar|YT fr|ZA af|ZM en|ZW en`
    .split(/[|\n]/)
    .map((entry) => [entry.slice(0, 2), entry.slice(3)]),
)

/** The name on a label, names in languages the lists do not have, and what people write. `not` is what the lists have wrong. */
export const countryNames: Record<string, { name?: string; local?: string[]; alias?: string[]; not?: string[] }> = {
  AE: { alias: ['Emirates', 'U.A.E.', 'الإمارات'] },
  AG: { alias: ['Antigua'] },
  AL: { alias: ['Shqipëria'] },
  AM: { alias: ['Hayastan'] },
  AU: { alias: ['Commonwealth of Australia'] },
  AX: { local: ['Åland'] },
  BA: { name: 'Bosnia and Herzegovina', alias: ['Bosnia', 'Bosnia-Herzegovina'] },
  BD: { alias: ['People’s Republic of Bangladesh'] },
  BI: { local: ['Uburundi'] },
  BL: { alias: ['St Barthelemy', 'St Barts'] },
  BN: { name: 'Brunei', alias: ['Negara Brunei Darussalam'] },
  BO: { local: ['Wuliwya', 'Buliwya'], alias: ['Plurinational State of Bolivia'] },
  BQ: { name: 'Caribbean Netherlands', local: ['Caribisch Nederland'], alias: ['Bonaire', 'Saba', 'Sint Eustatius'] },
  BR: { alias: ['República Federativa do Brasil', 'Federative Republic of Brazil'] },
  BS: { alias: ['Commonwealth of The Bahamas'] },
  BT: { local: ['འབྲུག་ཡུལ'], alias: ['འབྲུག'] },
  BW: { local: ['Botswana'] },
  BY: { alias: ['Byelorussia', 'Белоруссия'] },
  CC: { alias: ['Keeling Islands', 'Cocos Islands'] },
  CD: { name: 'Congo (Kinshasa)', alias: ['DR Congo', 'DRC', 'RDC', 'Congo-Kinshasa', 'Zaire'], not: ['Congo'] },
  CG: { name: 'Congo (Brazzaville)', alias: ['Congo-Brazzaville', 'Congo Republic'] },
  CH: {
    local: ['Svizra'],
    alias: ['Confoederatio Helvetica', 'Helvetia', 'Confédération suisse', 'Schweizerische Eidgenossenschaft'],
  },
  CI: { name: 'Côte d’Ivoire' },
  CN: {
    name: 'China',
    local: ['中国'],
    alias: ['PRC', 'PR China', 'Mainland China', '中國', '中华人民共和国', 'Zhongguo', '中華人民共和國'],
  },
  CV: { name: 'Cabo Verde' },
  CW: { local: ['Kòrsou'] },
  CY: { alias: ['Kıbrıs', 'Republic of Cyprus'] },
  CZ: { name: 'Czechia', local: ['Česko'], alias: ['Ceska Republika'] },
  DE: { alias: ['Federal Republic of Germany', 'Bundesrepublik Deutschland', 'BRD'] },
  DM: { alias: ['Commonwealth of Dominica'] },
  DO: { alias: ['Dominican Rep'] },
  EG: { alias: ['Arab Republic of Egypt'] },
  ER: { local: ['ኤርትራ'] },
  ES: { alias: ['Kingdom of Spain'] },
  ET: { alias: ['Itoophiyaa', 'Federal Democratic Republic of Ethiopia'] },
  FI: { alias: ['Suopma'] },
  FJ: { local: ['Viti'] },
  FK: { name: 'Falkland Islands', alias: ['Malvinas', 'Falklands'] },
  FM: { name: 'Micronesia', alias: ['FSM', 'Federated States of Micronesia'] },
  FO: { local: ['Føroyar'], alias: ['Faroes', 'Faeroe Islands'] },
  FR: { alias: ['République française', 'Metropolitan France'] },
  GB: {
    name: 'United Kingdom',
    not: ['DU'],
    local: ['Y Deyrnas Unedig'],
    alias: [
      'Britain',
      'GBR',
      'England',
      'Scotland',
      'Wales',
      'Northern Ireland',
      'Cymru',
      'Alba',
      'United Kingdom of Great Britain and Northern Ireland',
      'An Rìoghachd Aonaichte',
    ],
  },
  GE: { alias: ['Sakartvelo'] },
  GF: { alias: ['Guyane'] },
  GL: { local: ['Kalaallit Nunaat'] },
  GM: { name: 'Gambia' },
  GR: { alias: ['Hellas', 'Hellenic Republic', 'EL'] },
  HK: {
    local: ['香港'],
    alias: [
      'Hong Kong SAR',
      'Hong Kong SAR China',
      'HKSAR',
      'Hongkong',
      '中国香港',
      '中國香港',
      '香港特别行政区',
      '中国香港特别行政区',
      '中國香港特別行政區',
    ],
  },
  HT: { local: ['Ayiti'] },
  IE: { alias: ['Republic of Ireland', 'Irish Republic'] },
  IL: { alias: ['State of Israel'] },
  IN: { alias: ['Bharat', 'Republic of India', 'بھارت', 'భారతదేశం', 'ભારત', 'ಭಾರತ', 'ଭାରତ', 'ਭਾਰਤ', 'ভাৰত'] },
  IQ: { alias: ['عێراق'] },
  IR: { name: 'Iran' },
  IT: { alias: ['Italian Republic', 'Repubblica Italiana'] },
  JO: { alias: ['Hashemite Kingdom of Jordan'] },
  JP: { local: ['日本'], alias: ['Nippon', 'Nihon', '日本国', 'にほん', 'にっぽん'] },
  KG: { alias: ['Kyrgyz Republic'] },
  KH: { alias: ['Kampuchea'] },
  KN: { alias: ['St Kitts and Nevis', 'St Kitts'] },
  KP: { local: ['조선'], alias: ['DPRK', 'Democratic Peoples Republic of Korea'] },
  KR: { local: ['대한민국', '한국'], alias: ['Korea', 'Korea South', 'ROK'] },
  KW: { alias: ['State of Kuwait'] },
  LA: { name: 'Laos', local: ['ລາວ'], alias: ['Lao', 'Lao PDR'] },
  LB: { alias: ['الجمهورية اللبنانية'] },
  LC: { alias: ['St Lucia'] },
  LK: { local: ['ශ්‍රී ලංකා', 'ශ්‍රී ලංකාව'], alias: ['Democratic Socialist Republic of Sri Lanka'] },
  LS: { local: ['Lesotho'] },
  LU: { local: ['Lëtzebuerg'], alias: ['Grand Duchy of Luxembourg'] },
  MA: { alias: ['ⵍⵎⵖⵔⵉⴱ'] },
  MC: { alias: ['Principality of Monaco'] },
  MD: { name: 'Moldova' },
  ME: { local: ['Crna Gora'] },
  MF: { name: 'Saint Martin', alias: ['St Martin', 'Saint-Martin'] },
  MG: { local: ['Madagasikara'] },
  MH: { local: ['Aolepān Aorōkin M̧ajeļ'] },
  MK: { name: 'North Macedonia', alias: ['Macedonia', 'Македонија', 'FYROM', 'Maqedonia e Veriut'] },
  MM: { local: ['မြန်မာ'], alias: ['Burma', 'Myanmar (Burma)'] },
  MN: { alias: ['Монгол Улс', 'Mongol Uls'] },
  MO: {
    local: ['澳門', '澳门', 'Macau'],
    alias: ['Macao SAR', 'Macau SAR', 'Macao SAR China', '中国澳门特别行政区', '中國澳門特別行政區'],
  },
  MP: { alias: ['CNMI', 'Saipan'] },
  // The package has Mali's name here.
  MV: { local: ['ދިވެހިރާއްޖެ'], not: ['މާލީ'] },
  MW: { local: ['Malaŵi'] },
  MX: { local: ['México', 'Méjico'], alias: ['Estados Unidos Mexicanos'] },
  NG: { alias: ['Nijeriya', 'Federal Republic of Nigeria'] },
  NL: { name: 'Netherlands', local: ['Nederland'], alias: ['Holland'] },
  NO: { alias: ['Norga'] },
  NP: { local: ['नेपाल'] },
  NR: { local: ['Naoero'] },
  NZ: { local: ['Aotearoa'], alias: ['Aotearoa New Zealand'] },
  OM: { alias: ['Sultanate of Oman'] },
  PG: { local: ['Papua Niugini'], alias: ['PNG'] },
  PH: { local: ['Pilipinas'], alias: ['The Philippines'] },
  PK: { alias: ['Islamic Republic of Pakistan'] },
  PM: { alias: ['St Pierre and Miquelon'] },
  PS: {
    name: 'Palestine',
    alias: ['Palestinian Territories', 'Palestinian Territory', 'West Bank', 'Gaza', 'الأراضي الفلسطينية'],
  },
  PW: { local: ['Belau'] },
  PY: { local: ['Paraguái'] },
  QA: { alias: ['State of Qatar'] },
  RE: { name: 'Réunion', alias: ['La Réunion', 'Reunion Island'] },
  RS: { local: ['Srbija'] },
  RU: { name: 'Russia', alias: ['Rossiya', 'РФ'] },
  RW: { local: ['u Rwanda'] },
  SA: { alias: ['المملكة العربية السعودية', 'KSA', 'Kingdom of Saudi Arabia'] },
  SE: { alias: ['Kingdom of Sweden'] },
  SG: { alias: ['Republic of Singapore', 'Rep of Singapore'] },
  SH: { name: 'Saint Helena', alias: ['St Helena', 'Ascension', 'Ascension Island', 'Tristan da Cunha'] },
  SJ: { alias: ['Svalbard', 'Jan Mayen'] },
  SK: { alias: ['Slovak Republic'] },
  SN: { alias: ['Senegaal'] },
  SX: { name: 'Sint Maarten', alias: ['St Maarten'] },
  SY: { name: 'Syria', alias: ['Sûrîye'] },
  SZ: { name: 'Eswatini', local: ['eSwatini'], alias: ['Swaziland'] },
  TH: { alias: ['ประเทศไทย'] },
  TL: { name: 'Timor-Leste', local: ['Timór Lorosa’e'], alias: ['East Timor'] },
  TM: { alias: ['Туркменистан'] },
  TR: { name: 'Türkiye', alias: ['Türkiye Cumhuriyeti'] },
  TT: { alias: ['Trinidad', 'Tobago'] },
  TW: {
    name: 'Taiwan',
    local: ['台灣', '臺灣', '台湾', '中華民國'],
    alias: ['ROC', 'Republic of China', 'Taiwan ROC'],
  },
  TZ: { name: 'Tanzania' },
  UA: { alias: ['Ukraina'] },
  UG: { alias: ['Yuganda'] },
  US: { name: 'United States', alias: ['America'] },
  UY: { alias: ['Oriental Republic of Uruguay'] },
  UZ: { alias: ['Ўзбекистон'] },
  VA: { name: 'Vatican City', alias: ['Vatican', 'Holy See', 'Città del Vaticano', 'Vatican City State'] },
  VC: { alias: ['St Vincent', 'St Vincent and the Grenadines', 'Saint Vincent'] },
  VE: { alias: ['República Bolivariana de Venezuela', 'Bolivarian Republic of Venezuela'] },
  VG: { name: 'British Virgin Islands', alias: ['BVI'] },
  VI: {
    name: 'U.S. Virgin Islands',
    alias: ['US Virgin Islands', 'United States Virgin Islands', 'USVI', 'Virgin Islands US'],
  },
  VN: { name: 'Vietnam', local: ['Việt Nam'], alias: ['Viet Nam', 'Socialist Republic of Vietnam'] },
  WS: { local: ['Sāmoa'], alias: ['Western Samoa'] },
  XK: { local: ['Kosovë', 'Kosova'] },
  ZA: { local: ['iNingizimu Afrika'], alias: ['RSA', 'Republic of South Africa', 'EMzantsi Afrika'] },
}

/**
 * Names of states beside those of the lists, by country and code: the name to show (nothing keeps the list's), then others
 * split by /: English ones, postal abbreviations, codes of before. One that begins with = is taken only as it stands, and a
 * code that begins with + is one the lists do not have.
 * Sources: the countries' own English usage, their posts' abbreviations, and the changes of ISO 3166-2.
 * Sardinia's provinces of 2025 have no codes yet (Il Sole 24 Ore, February 2026): they stand under those of before.
 */
export const stateNames = readStateNames(`
AE AZ: /AUH/Abu Zaby/أبوظبي; DU: /DXB/Dubayy; SH: /SHJ; RK: /RAK; UQ: /UAQ/أم القيوين; FU: /FUJ
AL 02: /Durres; 06: /Korca; 10: /Shkodra; 11: /Tirana; 12: /Vlora
AR C: /CABA/Capital Federal/Buenos Aires City/Ciudad de Buenos Aires/Autonomous City of Buenos Aires
AR B: /Buenos Aires Province/BA/GBA/Bs. As.
AS +AS: American Samoa
AT 1: /Bgld; 2: /Carinthia; 3: /Lower Austria/NÖ; 4: /Upper Austria/OÖ; 6: /Styria; 7: /Tyrol; 9: /Vienna
AU ACT: /Canberra; NT: /N.T.; QLD: /Qld.; TAS: /Tas.; VIC: /Vic.
BD 10: /Chittagong; 22: /Jessore; 08: /Comilla; 03: /Bogra; 06: /Barisal; A: /Barishal Division/Barisal Division
BD B: /Chattogram Division/Chittagong Division; C: /Dhaka Division; D: /Khulna Division; E: /Rajshahi Division
BD F: /Rangpur Division; G: /Sylhet Division; H: /Mymensingh Division
BE BRU: Brussels/Bruxelles/Brussel/Bruxelles-Capitale/Brussels-Capital/Région de Bruxelles-Capitale
BE VAN: /Antwerp/Anvers; VBR: /Flemish Brabant/Brabant flamand; VLG: /Flanders/Vlaanderen/Flandre
BE VOV: /East Flanders/Flandre orientale; VWV: /West Flanders/Flandre occidentale; VLI: /Limbourg
BE WAL: /Wallonia/Wallonie/Wallonië; WBR: /Walloon Brabant/Waals-Brabant; WHT: /Henegouwen; WLG: /Luik/Lüttich
BE WNA: /Namen; WLX: /Luxemburg
BG 22: Sofia City/Sofia-City Region/Sofia (stolitsa)/София (столица)/Sofia-Grad; 23: /Sofia Province
BH 13: Capital/Manama; 14: Southern; 15: Muharraq; 17: Northern
BR DF: /Brasília/Federal District; SP: /S. Paulo
BY HM: /Minsk City/=Minsk/г. Минск/Мінск/=Минск; MI: /Minsk Region; BR: /Brest; HO: /Gomel; HR: /Grodno; MA: /Mogilev
BY VI: /Vitebsk
CA NL: /NF/Nfld./Newfoundland/Labrador/Terre-Neuve-et-Labrador; QC: /PQ/Que.; ON: /Ont.; BC: /Colombie-Britannique
CA NT: /NWT/Territoires du Nord-Ouest; PE: /PEI/Île-du-Prince-Édouard; NB: /Nouveau-Brunswick; NS: /Nouvelle-Écosse
CA YT: /Yukon Territory/YK; AB: /Alta.; SK: /Sask.; MB: /Man.
CH BE: /Berne/Berna; BL: /Baselland/Bâle-Campagne; BS: /Basel/Bâle-Ville; FR: /Freiburg; GE: /Geneva/Genf/Ginevra
CH GR: /Grisons/Grigioni/Grischun; LU: /Lucerne/Lucerna; NE: /Neuenburg; SG: St. Gallen/Saint-Gall; SO: /Soleure
CH TG: /Thurgovie; TI: /Tessin; VD: /Waadt; VS: /Wallis; ZG: /Zoug; ZH: /Zurich; AG: /Argovie; SH: /Schaffhouse
CL RM: /Santiago/Metropolitana/Región Metropolitana/RM Santiago; BI: /Biobío/Bío-Bío/VIII; LI: /O'Higgins/VI
CL MA: /Magallanes/XII; AI: /Aysén/XI; TA: /I; AN: /II; AT: /III; CO: /IV; VS: /V; ML: /VII; AR: /IX; LL: /X; LR: /XIV
CL AP: /XV; NB: /XVI
CN AH: Anhui; BJ: Beijing/Peking; CQ: Chongqing; FJ: Fujian; GS: Gansu; GD: Guangdong/Canton
CN GX: Guangxi/Guangxi Zhuang/广西壮族自治区; GZ: Guizhou; HI: Hainan; HE: Hebei; HA: Henan; HL: Heilongjiang; HB: Hubei
CN HN: Hunan; JL: Jilin; JS: Jiangsu; JX: Jiangxi; LN: Liaoning; NM: Inner Mongolia/Nei Mongol/内蒙古自治区
CN NX: Ningxia/Ningxia Hui/宁夏回族自治区; QH: Qinghai; SD: Shandong; SX: Shanxi; SN: Shaanxi; SH: Shanghai; SC: Sichuan/Szechuan
CN TJ: Tianjin/Tientsin; XZ: Tibet/Xizang/西藏自治区; XJ: Xinjiang/Xinjiang Uyghur/新疆维吾尔自治区; YN: Yunnan; ZJ: Zhejiang
CN HK: Hong Kong/香港特别行政区; MO: Macao/Macau/澳门特别行政区; TW: Taiwan/台湾省
CO DC: /Bogotá/Bogotá D.C./Distrito Capital; SAP: /San Andrés/San Andrés y Providencia; VAC: /Valle
CU 03: /Havana
CY 01: /Nicosia/Λευκωσία; 02: /Limassol/Λεμεσός; 03: /Larnaca/Λάρνακα; 04: /Famagusta/Αμμόχωστος; 05: /Paphos/Πάφος
CY 06: /Kyrenia/Κερύνεια
CZ 10: /Praha/Prague/Hlavní město Praha; 20: /Central Bohemia/Středočeský; 31: /South Bohemia; 32: /Plzeň
CZ 41: /Karlovy Vary; 42: /Ústí nad Labem; 51: /Liberec; 52: /Hradec Králové; 53: /Pardubice; 63: /Vysočina
CZ 64: /South Moravia; 71: /Olomouc; 72: /Zlín; 80: /Moravia-Silesia
DE BY: /Bavaria; BB: /Bbg; HE: /Hesse; MV: /Mecklenburg-Western Pomerania; NI: /Lower Saxony/NDS
DE NW: /North Rhine-Westphalia/NRW; RP: /Rhineland-Palatinate/RLP; SN: /Saxony; ST: /Saxony-Anhalt; TH: /Thuringia
DE BW: /BaWü
DK 81: /North Denmark/North Jutland; 82: Region Midtjylland/Central Denmark/Central Jutland; 83: /Southern Denmark
DK 84: /Capital Region/Capital Region of Denmark; 85: /Zealand
DO 01: Distrito Nacional
EE 37: /Harju; 39: /Hiiu; 45: /Ida-Viru; 50: /Jõgeva; 52: /Järva; 56: /Lääne; 60: /Lääne-Viru; 64: /Põlva; 68: /Pärnu
EE 71: /Rapla; 74: /Saare; 79: /Tartu; 81: /Valga; 84: /Viljandi; 87: /Võru
EG BH: /Beheira; SHR: /Sharqia; MNF: /Monufia/Menoufia; MN: /Minya
ES VI: /Araba Álava; A: /Alacant/Alicante Alacant; C: /A Coruña/Coruña/Corunna; CS: /Castelló/Castellón de la Plana
ES GI: /Gerona; L: /Lleida; OR: /Orense; PM: /Baleares/Illes Balears/Balearic Islands/Mallorca/Majorca; SS: /Gipuzkoa
ES BI: /Bizkaia/Biscay; SE: /Seville; NA: /Nafarroa/Navarre; V: /València; TF: /Tenerife; GC: /Gran Canaria; Z: /Saragossa
ES O: /Principado de Asturias; MU: /Región de Murcia; M: /Comunidad de Madrid; AN: /Andalusia; CT: /Cataluña/Catalonia
ES PV: /Euskadi/Basque Country; CN: /Canary Islands/Islas Canarias; CL: /Castile and León; CM: /Castile-La Mancha
ES VC: /Comunitat Valenciana/Comunidad Valenciana
ET AA: Addis Ababa; AM: Amhara; OR: Oromia; SO: Somali; SN: SNNPR
FI 10: /Lapland/Lappland; 11: /Birkaland; 14: /Northern Ostrobothnia; 18: /Nyland
FI 19: /Southwest Finland/Egentliga Finland; 01: /Åland/Ahvenanmaa
FM +FM: Micronesia/Federated States of Micronesia
FR 75C: /75; 69M: /Lyon; 20R: /Corsica; BRE: /Brittany; NOR: /Normandy; BFC: /Burgundy-Franche-Comté; PAC: /PACA/Provence
FR IDF: /Ile de France; 6AE: /Collectivité européenne d’Alsace
GB ENG: /Eng.; SCT: /Scot.; WLS: /Cymru; NIR: /N. Ireland
GB LND: City of London Corporation/=City of London/=London, City of; DUR: /County Durham
GR 69: /Mount Athos/Άγιο Όρος; I: /Attica/Αττική/Attiki/Αττικής; B: /Central Macedonia/Κεντρική Μακεδονία/Κεντρικής Μακεδονίας
GR M: /Crete/Κρήτη/Κρήτης
GR A: Anatolikí Makedonía kai Thráki/East Macedonia and Thrace/Eastern Macedonia and Thrace/Ανατολική Μακεδονία και Θράκη
GR C: /West Macedonia/Western Macedonia/Δυτική Μακεδονία; D: /Epirus/Ήπειρος; E: /Thessaly/Θεσσαλία
GR F: /Ionian Islands/Ιόνια Νησιά; G: /West Greece/Western Greece/Δυτική Ελλάδα; H: /Central Greece/Στερεά Ελλάδα
GR J: /Peloponnese/Πελοπόννησος; K: /North Aegean/Βόρειο Αιγαίο; L: /South Aegean/Νότιο Αιγαίο
GU +GU: Guam
HK Kowloon: /KLN/KL/九龙; Hong Kong Island: /Hong Kong/HK/HKI/香港岛/香港; New Territories: /NT/N.T.
HR 17: /Split-Dalmatia; 18: /Istria; 19: /Dubrovnik-Neretva; 21: /City of Zagreb/=Zagreb; 08: /Primorje-Gorski Kotar
ID JK: /Jakarta Raya/DKI; YO: /Yogyakarta/DI Yogyakarta/Jogja; PE: Highland Papua/Papua Pegunungan; PD: Southwest Papua
ID PS: South Papua; PT: Central Papua; JB: /Jabar; JT: /Jateng; JI: /Jatim; KR: /Kepri; NB: /NTB; NT: /NTT; SU: /Sumut
ID SB: /Sumbar; SS: /Sumsel; SN: /Sulsel; SA: /Sulut; KI: /Kaltim; KS: /Kalsel; KB: /Kalbar
IE D: /Dublin/Baile Átha Cliath; CO: /Cork; G: /Galway
IL TA: /Tel Aviv/תל אביב; JM: /Jerusalem/ירושלים; HA: /Haifa/חיפה; M: /Central District/Center/מרכז
IL D: /Southern District/South/דרום; Z: /Northern District/North/צפון
IN DL: /New Delhi/NCT of Delhi; OD: Odisha/Orissa; UK: Uttarakhand/Uttaranchal; PY: /Pondicherry; TS: Telangana
IN AP: /Andhra; JK: /J&K; CG: Chhattisgarh; TN: /Tamilnadu; DH: /DN/DD/Daman and Diu/Dadra and Nagar Haveli; KA: /Karnatak; WB: /Bengal
IQ AR: /Erbil; BA: /Basra; BB: /Babylon; BG: /بغداد; DA: /Duhok; DI: /Diyala; KA: /Karbala; KI: /Kirkuk
IQ KR: /Kurdistan Region/هەرێمی کوردستان; NA: /Najaf; NI: /Nineveh; SD: /Saladin; SU: /Sulaymaniyah
IT 21: /Piedmont; 25: /Lombardy; 32: /Trentino-Alto Adige/Trentino-South Tyrol; 52: /Tuscany; 57: /The Marches
IT 62: /Latium; 75: /Apulia; 82: /Sicily; 88: /Sardinia; VB: /Verbania; RM: /Rome/Roma Capitale; MI: /Milan; TO: /Turin
IT NA: /Naples; FI: /Florence; VE: /Venice; GE: /Genoa; PD: /Padua; MN: /Mantua; SR: /Syracuse; LI: /Leghorn
IT BZ: /Bozen/Südtirol/South Tyrol/Alto Adige; AO: /Valle d'Aosta/Aosta Valley/Vallée d'Aoste; MB: /Monza
IT FC: /FO/Forlì; PU: /PS/Pesaro; RC: /Reggio di Calabria; RE: /Reggio nell'Emilia; SS: /OT/Olbia-Tempio/Gallura/Gallura Nord-Est Sardegna
IT NU: /OG/Ogliastra; SU: /CI/VS/Carbonia-Iglesias/Medio Campidano/Sulcis Iglesiente; BT: /BAT
JO AM: Amman/عمان/العاصمة; AQ: /Aqaba; AZ: /Zarqa; BA: /Balqa; JA: /Jerash; KA: /Karak; MA: /Mafraq; MD: /Madaba; AT: /Tafilah
JP 10: /Gumma
KH 2: /Battambang; 3: /Kampong Cham; 5: /Kampong Speu; 6: /Kampong Thom; 8: /Kandal; 9: /Koh Kong; 14: /Prey Veng
KH 15: /Pursat; 17: /Siem Reap; 18: /Sihanoukville; 21: /Takeo
KR 11: /서울특별시/서울시/Seoul City; 26: /부산광역시/부산시/Pusan; 27: /대구광역시/대구시/Taegu; 28: /인천광역시/인천시; 29: /광주광역시; 30: /대전광역시/대전시/Taejon; 31: /울산광역시/울산시
KR 41: /경기도/Gyeonggi; 42: /강원도/강원특별자치도/Gangwon/Gangwon State; 43: /충청북도/North Chungcheong/Chungbuk
KR 44: /충청남도/South Chungcheong/Chungnam; 45: /전라북도/전북특별자치도/North Jeolla/Jeonbuk/Jeonbuk State
KR 46: /전라남도/South Jeolla/Jeonnam; 47: /경상북도/North Gyeongsang/Gyeongbuk; 48: /경상남도/South Gyeongsang/Gyeongnam
KR 49: /제주도/제주특별자치도/Jeju/Cheju; 50: /세종특별자치시/세종시/Sejong City
KW KU: /Kuwait City/Al Asimah/Capital/العاصمة; HA: /Hawalli/حولي; FA: /Farwaniya/الفروانية; AH: /Ahmadi/الأحمدي
KW JA: /Jahra/الجهراء; MU: /Mubarak Al-Kabeer/مبارك الكبير
KZ 11: /Akmola; 15: /Aktobe; 27: /West Kazakhstan; 31: /Jambyl; 35: /Karaganda; 39: /Kostanay; 43: /Kyzylorda; 47: /Mangystau
KZ 55: /Pavlodar; 59: /North Kazakhstan; 61: /Turkistan; 63: /East Kazakhstan
KZ 19: Almaty oblysy/Almaty oblast/Almaty Region/Алматы облысы; 71: /Astana/Nur-Sultan/Астана; 75: /Almaty City/Алматы
LA VT: Vientiane Prefecture/Vientiane/Viangchan Prefecture; VI: /Vientiane Province
LB BA: Beirut/بيروت; JL: /Mount Lebanon; AS: /North Lebanon; JA: /South Lebanon; BI: /Beqaa/Bekaa; AK: /Akkar
LB NA: /Nabatieh
LK 1: Western Province; 2: Central Province; 3: Southern Province; 4: Northern Province; 5: Eastern Province
LK 6: North Western Province; 7: North Central Province; 8: Uva Province; 9: Sabaragamuwa Province; 11: Colombo
LK 21: Kandy; 22: Matale; 23: Nuwara Eliya; 31: Galle; 32: Matara; 33: Hambantota; 41: Jaffna; 51: Batticaloa
LK 53: Trincomalee; 61: Kurunegala; 62: Puttalam; 71: Anuradhapura; 72: Polonnaruwa; 82: Monaragala; 92: Kegalle
LT VL: /Vilnius; KU: /Kaunas; KL: /Klaipėda; SA: /Šiauliai; PN: /Panevėžys; AL: /Alytus; MR: /Marijampolė; TA: /Tauragė
LT TE: /Telšiai; UT: /Utena
LY BA: /Benghazi; DR: /Derna; MI: /Misrata; SB: /Sabha; SR: /Sirte; TB: /Tripoli
MH +MH: Marshall Islands
MN 1: /Улаанбаатар/Ulan Bator
MP +MP: Northern Mariana Islands
MX AGU: /Ags.; BCN: /B.C./Baja California Norte; BCS: /B.C.S.; CAM: /Camp.; CHP: /Chis.; CHH: /Chih.
MX CMX: /CDMX/DF/D.F./DIF/Distrito Federal/Mexico City; COA: /Coahuila/Coah.; COL: /Col.; DUR: /Dgo.
MX MEX: /Edomex/Edo. de México/Méx./State of Mexico; GUA: /Gto.; GRO: /Gro.; HID: /Hgo.; JAL: /Jal.; MIC: /Mich.; MOR: /Mor.; NAY: /Nay.
MX NLE: /N.L.; OAX: /Oax.; PUE: /Pue.; QUE: /Qro.; ROO: /Q.R./Q. Roo; SLP: /S.L.P.; SIN: /Sin.; SON: /Son.; TAB: /Tab.
MX TAM: /Tamps.; TLA: /Tlax.; VER: /Ver.; YUC: /Yuc.; ZAC: /Zac.
MY 10: /SGR/Selangor Darul Ehsan; 11: /TRG/Terengganu Darul Iman; 12: /SBH; 13: /SWK
MY 14: /KL/KUL/WP Kuala Lumpur/Federal Territory of Kuala Lumpur; 15: /LBN/WP Labuan; 16: /PJY/WP Putrajaya
MY 07: /Penang/PNG; 04: /Malacca/MLK; 01: /JHR/Johore/Johor Darul Takzim; 02: /KDH/Kedah Darul Aman
MY 03: /KTN/Kelantan Darul Naim; 05: /NSN/Negeri Sembilan Darul Khusus; 06: /PHG/Pahang Darul Makmur
MY 08: /PRK/Perak Darul Ridzuan; 09: /PLS
NG FC: /FCT/Abuja; NA: /Nassarawa
NL FR: /Friesland; NB: /North Brabant/Brabant; NH: /North Holland; ZH: /South Holland; GE: /Guelders; ZE: /Zealand
NO 18: /Nordlánnda; +31: Østfold; +32: Akershus; +33: Buskerud; +39: Vestfold; +40: Telemark; 50: /Trööndelage
NO +55: Troms/Romsa/Tromssa; +56: Finnmark/Finnmárku/Finmarkku
NP P1: /Province 1; P2: /Province 2
NZ WGN: /Wellington; MWT: /Manawatu-Wanganui; HKB: /Hawkes Bay
OM MA: Muscat/مسقط; ZU: Dhofar; DA: /Dakhiliyah; BS: /North Batinah; BJ: /South Batinah; BU: /Buraimi; WU: /Wusta
OM SS: /North Sharqiyah; SJ: /South Sharqiyah; ZA: /Dhahirah
PE LIM: Lima; LMA: /Lima Metropolitana/Metropolitan Lima; CUS: /Cusco; CAL: /El Callao
PG NCD: National Capital District/Port Moresby
PH 00: /NCR/Metro Manila/Manila/MM; MAG: /MGD; COM: /Compostela Valley; NCO: /North Cotabato
PK BA: /Baluchistan; GB: /Northern Areas; IS: Islamabad/Islamabad Capital Territory/ICT
PK JK: Azad Kashmir/Azad Jammu and Kashmir/AJK; KP: Khyber Pakhtunkhwa/KPK/NWFP; PB: Punjab; SD: /Sind
PL 10: /LD/Łódź; 12: /MA/Lesser Poland; 14: /MZ/Masovia/Masovian/Mazovia; 16: /OP/Opole; 18: /PK/Subcarpathia
PL 20: /PD/Podlachia; 22: /PM/Pomerania; 24: /SL/Silesia; 26: /SK/Holy Cross; 28: /WN/Warmia-Masuria
PL 30: /WP/Greater Poland; 32: /ZP/West Pomerania; 02: /DS/Lower Silesia/Lower Silesian; 04: /KP/Kuyavia-Pomerania; 06: /LU/Lublin
PL 08: /LB/Lubusz
PR +PR: Puerto Rico
PT 11: /Lisbon; 13: /Oporto; 20: /Azores/Açores; 30: /Madeira
PW +PW: Palau
QA DA: Doha/الدوحة; RA: /Al Rayyan; WA: /Al Wakra; KH: /Al Khor
RO B: /Bucharest
RU AD: Adygea; AL: Altai Republic; ALT: Altai Krai; AMU: Amur; ARK: Arkhangelsk; AST: Astrakhan; BA: Bashkortostan
RU BEL: Belgorod; BRY: Bryansk; BU: Buryatia; CE: Chechnya; CHE: Chelyabinsk; CHU: Chukotka/Chukchi
RU CR: Crimea/Республика Крым/Крым; CU: Chuvashia/Чувашия; DA: Dagestan; IN: Ingushetia; IRK: Irkutsk; IVA: Ivanovo
RU KAM: Kamchatka; KB: Kabardino-Balkaria; KC: Karachay-Cherkessia; KDA: Krasnodar; KEM: Kemerovo; KGD: Kaliningrad
RU KGN: Kurgan; KHA: Khabarovsk; KHM: Khanty-Mansi/ХМАО/ХМАО-Югра; KIR: Kirov; KK: Khakassia; KL: Kalmykia; KLU: Kaluga; KO: Komi
RU KOS: Kostroma; KR: Karelia; KRS: Kursk; KYA: Krasnoyarsk; LEN: Leningrad; LIP: Lipetsk; MAG: Magadan; ME: Mari El
RU MO: Mordovia; MOS: Moscow Oblast/МО; MOW: Moscow; MUR: Murmansk; NEN: Nenets; NGR: Novgorod; NIZ: Nizhny Novgorod
RU NVS: Novosibirsk; OMS: Omsk; ORE: Orenburg; ORL: Oryol; PER: Perm; PNZ: Penza; PRI: Primorsky/Primorye; PSK: Pskov
RU ROS: Rostov; RYA: Ryazan; SA: Sakha/Yakutia/Якутия; SAK: Sakhalin; SAM: Samara; SAR: Saratov; SE: North Ossetia/Северная Осетия
RU SEV: Sevastopol; SMO: Smolensk; SPE: Saint Petersburg/SPB/СПб; STA: Stavropol; SVE: Sverdlovsk; TA: Tatarstan
RU TAM: Tambov; TOM: Tomsk; TUL: Tula; TVE: Tver; TY: Tuva; TYU: Tyumen; UD: Udmurtia; ULY: Ulyanovsk; VGG: Volgograd
RU VLA: Vladimir; VLG: Vologda; VOR: Voronezh; YAN: Yamalo-Nenets/ЯНАО; YAR: Yaroslavl; YEV: Jewish Autonomous Oblast
RU ZAB: Zabaykalsky
SA 10: Najran/نجران; 11: Al Bahah/Baha/الباحة; 12: Al Jawf/Jouf/الجوف; 14: Asir/عسير; 01: Riyadh/الرياض
SA 02: Makkah/Mecca/مكة المكرمة/مكة; 03: Madinah/Medina/Al Madinah/المدينة المنورة/المدينة
SA 04: Eastern Province/Eastern/Sharqia/الشرقية/المنطقة الشرقية; 05: Qassim/Al-Qassim/القصيم; 06: Hail/حائل
SA 07: Tabuk/تبوك; 08: Northern Borders/الحدود الشمالية; 09: Jazan/Jizan/جازان
SD DC: /Central Darfur; DE: /East Darfur; DN: /North Darfur; DS: /South Darfur; DW: /West Darfur; GD: /Gedaref; GZ: /Gezira
SD GK: /West Kordofan; KA: /Kassala; KH: Khartoum/الخرطوم; KN: /North Kordofan; KS: /South Kordofan; NB: /Blue Nile
SD NO: /Northern; NR: /River Nile; NW: /White Nile; RS: /Red Sea; SI: /Sennar
SE AB: /Stockholm; AC: /Västerbotten; BD: /Norrbotten; D: /Södermanland; E: /Östergötland; F: /Jönköping; G: /Kronoberg
SE I: /Gotland; M: /Scania; N: /Halland; O: /Västra Götaland; S: /Värmland; U: /Västmanland; W: /Dalarna; X: /Gävleborg
SE Y: /Västernorrland; Z: /Jämtland
SK BL: /Bratislava; BC: /Banská Bystrica; KI: /Košice; NI: /Nitra; PV: /Prešov; TA: /Trnava; TC: /Trenčín; ZI: /Žilina
SL W: Western Area
SY DI: Damascus/دمشق; HL: Aleppo/حلب; HI: Homs; HM: Hama; LA: Latakia; RD: /Rif Dimashq; TA: /Tartus; DR: /Daraa
SY DY: /Deir ez-Zor
TH 10: /BKK/Krungthep/กรุงเทพ/กทม/กรุงเทพฯ; 14: /Ayutthaya; 30: /Korat; S: Pattaya/Phatthaya
TR 27: /Antep; 33: /İçel; 34: /Constantinople; 35: /Smyrna; 46: /Maraş/K. Maraş; 63: /Urfa; 03: /Afyonkarahisar
TW HSZ: /=Hsinchu; CYI: /=Chiayi
UA 12: Dnipropetrovsk/Dnipro; 14: Donetsk; 18: Zhytomyr; 21: Zakarpattia; 23: Zaporizhzhia; 26: Ivano-Frankivsk
UA 30: Kyiv/Kiev/=Kyiv City; 32: Kyiv Oblast/=Kiev Oblast; 35: Kirovohrad; 40: Sevastopol; 43: Crimea; 46: Lviv/Lvov
UA 48: Mykolaiv; 51: Odesa/Odessa; 53: Poltava; 56: Rivne; 59: Sumy; 61: Ternopil; 63: Kharkiv/Kharkov; 65: Kherson
UA 68: Khmelnytskyi; 71: Cherkasy; 74: Chernihiv; 77: Chernivtsi; 05: Vinnytsia; 07: Volyn; 09: Luhansk
US DC: /Washington DC/Washington D.C.; AA: Armed Forces Americas
US AE: Armed Forces Europe/Armed Forces Africa/Armed Forces Canada/Armed Forces Middle East; AP: Armed Forces Pacific
US VI: /U.S. Virgin Islands/US Virgin Islands; CA: /Calif.; MA: /Mass.; NC: /N. Carolina; SC: /S. Carolina
US ND: /N. Dakota; SD: /S. Dakota; WV: /W. Virginia/W. Va.; NH: /N. Hampshire; PA: /Penna./Penn.; AL: /Ala.; AZ: /Ariz.
US AR: /Ark.; CO: /Colo.; CT: /Conn.; DE: /Del.; FL: /Fla.; IL: /Ill.; IN: /Ind.; KS: /Kan./Kans.; MI: /Mich.; MN: /Minn.
US MS: /Miss.; MT: /Mont.; NE: /Neb./Nebr.; NV: /Nev.; NM: /N. Mex.; OK: /Okla.; OR: /Ore./Oreg.; TN: /Tenn.; TX: /Tex.
US WA: /Wash.; WI: /Wis./Wisc.; WY: /Wyo.
UZ TK: Toshkent shahri/=Toshkent/=Tashkent/Tashkent City; TO: Toshkent viloyati/Tashkent Region; BU: /Bukhara
UZ SA: /Samarkand; FA: /Fergana; XO: /Khorezm; AN: /Andijan; NW: /Navoi; JI: /Jizzakh
VE A: /Caracas/Capital District; X: /Vargas
VI +VI: U.S. Virgin Islands/Virgin Islands
VN 26: /Huế/Hue City; HN: /Hanoi/Ha Noi
VN SG: /HCM/HCMC/Saigon/Sài Gòn/Ho Chi Minh/Ho Chi Minh City/TP HCM/TPHCM/TP Hồ Chí Minh; DN: /Danang; HP: /Haiphong
VN CT: /Cần Thơ
YE AD: Aden; HD: /Hadhramaut; HU: /Hodeidah; SA: /Sanaa City; SN: /Sanaa; TA: /Taiz; MA: /Marib
ZA GP: /GT; KZN: /NL/Natal; WC: /Wes-Kaap/W. Cape; EC: /Oos-Kaap/E. Cape; NC: /Noord-Kaap/N. Cape
AF KAB: /کابل
BA BIH: /Federation of Bosnia and Herzegovina
CU 03: /Havana
DZ 16: /Algiers
EG GH: /Gharbiyya
IS 1: /Capital Region
MV MLE: /Malé
PS NBS: /نابلس
`)

function readStateNames(text: string): Record<string, Record<string, string[]>> {
  const names: Record<string, Record<string, string[]>> = {}
  for (const line of text.trim().split('\n')) {
    const country = line.slice(0, 2)
    const cells = line
      .slice(3)
      .split('; ')
      .map((cell) => cell.split(': '))
    names[country] = {
      ...names[country],
      ...Object.fromEntries(cells.map(([code, all = '']) => [code, all.split('/')])),
    }
  }
  return names
}
