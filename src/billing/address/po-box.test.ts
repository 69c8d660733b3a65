import { describe, expect, test } from 'vitest'
import { ada, cupertino, warningsOf } from '../../../tests/addresses.ts'
import { normalizeAddress } from './normalize.ts'

describe('a post-office box is noticed', () => {
  test.each([
    'PO Box 12',
    'P.O. Box 12',
    'p o box 12',
    'Post Office Box 12',
    'GPO Box 12',
    'Private Bag 12',
    'Postfach 12 34',
    'BP 123',
    '01 B.P. 123',
    'Boîte postale 12',
    'Case postale 12',
    'Casella Postale 12',
    'Apartado de Correos 12',
    'Apdo. 12',
    'Caixa Postal 12',
    'Postbus 12',
    'Postboks 12',
    'skr. poczt. 12',
    'а/я 12',
    'Абонентский ящик 12',
    'ת.ד. 12',
    'ص.ب 12',
    '郵政信箱12號',
    '私書箱12号',
    '사서함 12호',
    'ตู้ ปณ. 12',
    'Hòm thư 12',
    'P.O.B. 12',
    'Locked Bag 12',
    'Posbus 12',
    'Postbox 12',
    'Pósthólf 12',
    'Postrúm 12',
    'Postilokero 12',
    'Postkast 12',
    'Abonenta kastīte 12',
    'Pašto dėžutė 12',
    'Poštovní přihrádka 12',
    'Poštový priečinok 12',
    'Postafiók 12',
    'Căsuța poștală 12',
    'Poštanski pretinac 12',
    'Poštni predal 12',
    'Kutia Postare 12',
    'Posta Kutusu 12',
    'Apartat de correus 12',
    'Casilla 12',
    'Casilla de Correo 12',
    'S.L.P. 12',
    'Peti Surat 12',
    'Kotak Pos 12',
    'Bosca Poist 12',
    'Blwch Post 12',
    'Поштански фах 12',
    'Абонентська скринька 12',
    'Пощенска кутия 12',
    'Шуудангийн хайрцаг 12',
    'Τ.Θ. 12',
    'Ταχυδρομική θυρίδα 12',
    'صندوق بريد 12',
    'صندوق پستی 12',
    'ת״ד 12',
    'पोस्ट बॉक्स 12',
    'পোস্ট বক্স 12',
    '邮政信箱12号',
    'საფოსტო ყუთი 12',
    'ፖ.ሳ.ቁ. 12',
    'c/o Lovelace, PO Box 12',
  ])('%s', (addressLine1) => {
    expect(warningsOf({ ...cupertino, addressLine1 })).toEqual(['#/addressLine1 po_box'])
  })

  test.each([
    '1 Post Office Road',
    '12 Boxwood Lane',
    'Postfachstraße 1',
    'BPM Tower',
    '5 Apartadó Street',
    'Box Hill Road 3',
    'Hauptstr. 12',
    'Boxhagener Straße 12',
    'Posta Caddesi 12',
    'Calle Casillas 12',
    'Subpart 12',
    'Piazza della Posta 12',
    'Box 12',
    'PL 12',
    'Pf 12',
    'Kotakposan 12',
  ])('but %s is a street', (addressLine1) => {
    expect(warningsOf({ ...cupertino, addressLine1 })).toEqual([])
  })

  test.each([
    ['SE', 'Box 12', 'IT', '111 20'],
    ['FI', 'PL 12', 'PL', '00101'],
    ['DE', 'Pf. 12', 'SE', '10623'],
    ['HU', 'Pf. 12', 'FI', '1053'],
    ['TR', 'P.K. 12', 'DE', '34470'],
    ['HR', 'p.p. 12', 'DE', '10000'],
    ['CH', 'CP 12', 'DE', '1015'],
  ])('in %s %s is one, in %s it is not', (country, addressLine1, elsewhere, postalCode) => {
    const box = (of: string) =>
      normalizeAddress({ ...ada, addressLine1, city: 'x', country: of, postalCode })
        .warnings.map(({ code }) => code)
        .includes('po_box')
    expect([box(country), box(elsewhere)]).toEqual([true, false])
  })
})
