// The style sheet of the pages. It is a module and no .css file, so that the compiler's output is complete by itself.

export const STYLE = `
:root { color-scheme: light dark; --page: #fbfaf7; --card: #fff; --ink: #1d2420; --quiet: #5d6860; --line: #e2e0d8; --code: #f3f1ea;
  --accent: #1f6b4a; --get: #1d5fa8; --post: #1f6b4a; --patch: #8f5400; --delete: #a8321f; }
@media (prefers-color-scheme: dark) { :root { --page: #131715; --card: #1a1f1c; --ink: #e6ebe8; --quiet: #9daba3; --line: #2d3530; --code: #202723;
  --accent: #7cc6a0; --get: #8cbcf0; --post: #7cc6a0; --patch: #e3b268; --delete: #f0968a; } }
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.6 system-ui, sans-serif; }
header { border-bottom: 1px solid var(--line); background: var(--card); }
header div { max-width: 78rem; margin: 0 auto; padding: .9rem 1.5rem; display: flex; flex-wrap: wrap; gap: .3rem 1.6rem; align-items: baseline; }
header b { font-size: 1.1rem; margin-right: auto; } header b a { color: inherit; }
main { max-width: 50rem; margin: 0 auto; padding: 1.5rem; }
.wide { max-width: 78rem; display: grid; grid-template-columns: 16rem minmax(0, 1fr); gap: 3rem; }
nav { position: sticky; top: 0; max-height: 100vh; overflow-y: auto; padding: 1.2rem 0; font-size: .92rem; align-self: start; }
nav h2 { font-size: .78rem; letter-spacing: .08em; text-transform: uppercase; color: var(--quiet); margin: 1.2rem 0 .3rem; border: 0; padding: 0; }
nav ul { list-style: none; margin: 0; padding: 0; } nav li { padding: .12rem 0; } .op { display: flex; gap: .6rem; align-items: baseline; } nav .op { color: inherit; }
h1 { font-size: 1.9rem; line-height: 1.25; margin: .8rem 0 .6rem; } h2 { font-size: 1.4rem; margin: 3rem 0 1rem; }
h3 { font-size: 1.15rem; margin: 0 0 .5rem; } h4 { font-size: .95rem; margin: 1.4rem 0 .3rem; }
a { color: var(--accent); text-decoration: none; } a:hover { text-decoration: underline; } p { margin: .5rem 0; }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; font-size: .86rem; }
code { background: var(--code); padding: .12em .35em; border-radius: 4px; overflow-wrap: anywhere; } td:first-child code { overflow-wrap: break-word; }
pre { background: var(--code); border: 1px solid var(--line); border-radius: 8px; padding: .8rem 1rem; overflow-x: auto; line-height: 1.5; }
section, .card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1.3rem 1.5rem; margin: 0 0 1.5rem; }
section:target { border-color: var(--accent); box-shadow: 0 0 0 1px var(--accent); }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(17rem, 1fr)); gap: 1rem; margin: 1.5rem 0; }
.card { display: block; margin: 0; color: inherit; } .card b { color: var(--accent); display: block; } a.card:hover { border-color: var(--accent); text-decoration: none; }
.path { margin: 0 0 .8rem; overflow-wrap: anywhere; } .path code { background: none; padding: 0; font-size: .95rem; }
.method { font: 700 .68rem/1.7 ui-monospace, monospace; min-width: 4.2em; text-align: center; flex: none; display: inline-block; border-radius: 4px; padding: 0 .4em; color: var(--tone); background: color-mix(in srgb, var(--tone) 14%, transparent); }
.GET { --tone: var(--get); } .POST { --tone: var(--post); } .PATCH { --tone: var(--patch); } .DELETE { --tone: var(--delete); }
.quiet { color: var(--quiet); } .small { font-size: .9rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .92rem; } td, th { text-align: left; vertical-align: top; padding: .45rem 1rem .45rem 0; border-bottom: 1px solid var(--line); }
th { font-weight: 600; color: var(--quiet); } tr:last-child td { border-bottom: 0; } td:first-child { white-space: nowrap; } td:last-child { padding-right: 0; }
.fields td:first-child { width: 12rem; } .fields td:nth-child(2) { width: 11rem; }
details { border-top: 1px solid var(--line); margin-top: .9rem; padding-top: .6rem; } summary { cursor: pointer; font-weight: 600; font-size: .95rem; } details details { margin-left: 1rem; }
.columns { columns: 3 14rem; list-style: none; margin: .6rem 0 0; padding: 0; } .columns li { break-inside: avoid; padding: .12rem 0; }
.chips { display: flex; flex-wrap: wrap; gap: .3rem .5rem; margin: .6rem 0 0; padding: 0; list-style: none; }
.narrow { max-width: 30rem; } form { display: grid; gap: .5rem; margin: 1rem 0; } label { font-weight: 600; }
input { font: inherit; width: 100%; min-height: 2.75rem; padding: .4rem .7rem; color: inherit; background: var(--card); border: 1px solid var(--quiet); border-radius: 8px; }
button { font: inherit; font-weight: 600; min-height: 2.75rem; margin-top: .5rem; padding: .4rem 1rem; border: 1px solid var(--accent); border-radius: 8px; background: var(--accent); color: var(--page); cursor: pointer; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.search { display: flex; gap: .5rem; max-width: 34rem; } .search button { margin: 0; } mark { background: color-mix(in srgb, var(--accent) 25%, transparent); color: inherit; border-radius: 3px; }
.results { list-style: none; padding: 0; } .results li { margin: 0 0 1.3rem; } .results p { margin: .2rem 0 0; overflow-wrap: anywhere; } nav [aria-current] { font-weight: 700; } .output { background: none; border-style: dashed; }
article { min-width: 0; max-width: 48rem; } article h1 code, article h2 code, article h3 code { font-size: inherit; } article h2 { margin: 2.4rem 0 .8rem; } article h3 { margin: 1.8rem 0 .5rem; } article p, article li { margin: .6rem 0; } article .scroll { margin: 1rem 0; } article td:first-child { white-space: normal; min-width: 8rem; } article td { min-width: 5rem; }
@media (max-width: 60rem) { .wide { display: flex; flex-direction: column-reverse; gap: 1rem; } .wide > * { width: 100%; } nav { position: static; max-height: none; columns: 2; } nav div { break-inside: avoid; } }
@media (max-width: 36rem) { header div { padding: .8rem 1rem; gap: .3rem .8rem; font-size: .92rem; } nav { columns: 1; } td:first-child { white-space: normal; } main { padding: 1rem; } section { padding: 1rem; } .fields td:first-child, .fields td:nth-child(2) { width: auto; } }
`
