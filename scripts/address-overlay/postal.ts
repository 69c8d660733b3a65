// Postal codes: how they are spelt. The pattern is Google's unless one is given.

import type { Correction } from './correction.ts'

const GB_AREA_SHAPES = ['@# #@@', '@## #@@', '@@# #@@', '@@## #@@', '@#@ #@@', '@@#@ #@@']
const US_ZIP_SHAPES = ['#####', '#####-####']

export const postal: Correction[] = [
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
      recommended: true,
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
]
