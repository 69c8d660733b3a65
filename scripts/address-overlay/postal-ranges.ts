// Postal codes: which of those that are spelt right exist, and which belong to a neighbour.

import type { Correction } from './correction.ts'

export const postalRanges: Correction[] = [
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
]
