/**
 * Names of states beside those of the lists, by country and code: the name to show (nothing keeps the list's), then others
 * split by /: English ones, postal abbreviations, codes of before. One that begins with = is taken only as it stands, and a
 * code that begins with + is one the lists do not have.
 * Sources: the countries' own English usage, their posts' abbreviations, and the changes of ISO 3166-2.
 * The counties of the United Kingdom that have no ISO code are those of Royal Mail's former and traditional county data,
 * and stand under their own names.
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
BR DF: /Brasília/Federal District; SP: /S. Paulo; MG: /Minas
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
GB LND: City of London Corporation/=City of London/=London, City of; DUR: County Durham/Co. Durham/Co Durham; BST: Bristol/City of Bristol
GB EDH: City of Edinburgh/Edinburgh; VGL: Vale of Glamorgan; CAM: /Cambs; BKM: /Bucks; GLS: /Glos; HAM: /Hants
GB HRT: /Herts; LAN: /Lancs; LEC: /Leics; LIN: /Lincs; NTT: /Notts; OXF: /Oxon; STS: /Staffs; WIL: /Wilts; WOR: /Worcs; NBL: /Northd
GB +Avon: Avon; +Bedfordshire: Bedfordshire/Beds; +Berkshire: Berkshire/Berks/Royal Berkshire; +Cheshire: Cheshire; +Cleveland: Cleveland
GB +Cumberland: Cumberland; +East Yorkshire: East Yorkshire; +Greater London: Greater London/London; +Greater Manchester: Greater Manchester
GB +Hereford and Worcester: Hereford and Worcester; +Huntingdonshire: Huntingdonshire/Hunts; +Humberside: Humberside; +Merseyside: Merseyside
GB +Middlesex: Middlesex/Middx; +Northamptonshire: Northamptonshire/Northants; +South Yorkshire: South Yorkshire/S Yorkshire; +Sussex: Sussex
GB +Tyne and Wear: Tyne and Wear/Tyne & Wear; +West Midlands: West Midlands/W Midlands; +West Yorkshire: West Yorkshire/W Yorkshire
GB +Westmorland: Westmorland; +Yorkshire: Yorkshire/Yorks; +Argyll: Argyll/Argyllshire; +Ayrshire: Ayrshire; +Banffshire: Banffshire
GB +Berwickshire: Berwickshire; +Caithness: Caithness; +Dumfriesshire: Dumfriesshire; +Dunbartonshire: Dunbartonshire
GB +Inverness-shire: Inverness-shire; +Kincardineshire: Kincardineshire; +Kinross-shire: Kinross-shire; +Kirkcudbrightshire: Kirkcudbrightshire
GB +Lanarkshire: Lanarkshire; +Nairnshire: Nairnshire; +Peeblesshire: Peeblesshire; +Perthshire: Perthshire; +Ross-shire: Ross-shire
GB +Roxburghshire: Roxburghshire; +Selkirkshire: Selkirkshire; +Stirlingshire: Stirlingshire; +Strathclyde: Strathclyde; +Sutherland: Sutherland
GB +Wigtownshire: Wigtownshire; +Clwyd: Clwyd; +Dyfed: Dyfed; +Gwent: Gwent; +Mid Glamorgan: Mid Glamorgan; +South Glamorgan: South Glamorgan
GB +West Glamorgan: West Glamorgan; +Glamorgan: Glamorgan; +Brecknockshire: Brecknockshire/Breconshire; +Caernarfonshire: Caernarfonshire
GB +Cardiganshire: Cardiganshire; +Merionethshire: Merionethshire; +Montgomeryshire: Montgomeryshire; +Radnorshire: Radnorshire
GB +County Antrim: County Antrim/Co. Antrim/Antrim; +County Armagh: County Armagh/Co. Armagh/Armagh; +County Down: County Down/Co. Down/Down
GB +County Fermanagh: County Fermanagh/Co. Fermanagh/Fermanagh; +County Londonderry: County Londonderry/Co. Londonderry/Londonderry/County Derry/Co. Derry
GB +County Tyrone: County Tyrone/Co. Tyrone/Tyrone
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
NG FC: /FCT/Abuja/FCT Abuja/Abuja FCT; NA: /Nassarawa
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
