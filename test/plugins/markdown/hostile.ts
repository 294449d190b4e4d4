/** Texts that try to get script, style, foreign requests or fake interface past the renderer. Collected for this project. */
const SCRIPT = 'alert(1)';

const html = [
  `<script>${SCRIPT}</script>`, `<SCRIPT SRC=//evil.example/x.js></SCRIPT>`, `<img src=x onerror=${SCRIPT}>`, `<img/src="x"/onerror=${SCRIPT}>`,
  `<svg onload=${SCRIPT}>`, `<svg><script>${SCRIPT}</script></svg>`, `<svg/onload=${SCRIPT}//`, `<math><mtext><table><mglyph><style><img src onerror=${SCRIPT}>`,
  `<body onload=${SCRIPT}>`, `<iframe src="javascript:${SCRIPT}">`, `<iframe srcdoc="<script>${SCRIPT}</script>">`, `<object data="javascript:${SCRIPT}">`,
  `<embed src="data:text/html,<script>${SCRIPT}</script>">`, `<a href="javascript:${SCRIPT}">x</a>`, `<a href=" javascript:${SCRIPT}">x</a>`,
  `<a href="java\tscript:${SCRIPT}">x</a>`, `<a href="&#106;avascript:${SCRIPT}">x</a>`, `<form action="javascript:${SCRIPT}"><input type=submit>`,
  `<input autofocus onfocus=${SCRIPT}>`, `<details open ontoggle=${SCRIPT}>`, `<video><source onerror=${SCRIPT}>`, `<audio src=x onerror=${SCRIPT}>`,
  `<marquee onstart=${SCRIPT}>`, `<style>@import "//evil.example/x.css";</style>`, `<link rel=stylesheet href=//evil.example/x.css>`,
  `<meta http-equiv=refresh content="0;url=//evil.example">`, `<base href="//evil.example/">`, `<p style="position:fixed;inset:0">cover</p>`,
  `<div id="main" class="dialog">`, `<template><script>${SCRIPT}</script></template>`, `<noscript><p title="</noscript><img src=x onerror=${SCRIPT}>">`,
  `<textarea></textarea><script>${SCRIPT}</script>`, `<title><img src=x onerror=${SCRIPT}></title>`, `<xmp><img src=x onerror=${SCRIPT}></xmp>`,
  `<!--><img src=x onerror=${SCRIPT}>-->`, `<!-- --!><img src=x onerror=${SCRIPT}> -->`, `<![CDATA[<img src=x onerror=${SCRIPT}>]]>`, `<?xml version="1.0"?><x onclick=${SCRIPT}>`,
  `<<script>${SCRIPT}//<</script>`, `<scr<script>ipt>${SCRIPT}</scr</script>ipt>`, `\u0000<img src=x onerror=${SCRIPT}>`, `<img src=x\u0000 onerror=${SCRIPT}>`,
  `<a\u00a0href="javascript:${SCRIPT}">`, `<x-composer data-src="//evil.example">`, `<button formaction="javascript:${SCRIPT}">`, `<isindex action=javascript:${SCRIPT}>`,
  `<select><option><script>${SCRIPT}</script></select>`, `<plaintext><img src=x onerror=${SCRIPT}>`, `<frameset onload=${SCRIPT}>`, `<table background="javascript:${SCRIPT}">`,
];

const links = [
  `[x](javascript:${SCRIPT})`, `[x](JaVaScRiPt:${SCRIPT})`, `[x](javascript&colon;${SCRIPT})`, `[x](java&#x09;script:${SCRIPT})`, `[x](&#x6A;avascript:${SCRIPT})`,
  `[x](<java\tscript:${SCRIPT}>)`, `[x](<javascript:${SCRIPT}>)`, `[x](javascript://%0a${SCRIPT})`, `[x](\u0001javascript:${SCRIPT})`, `[x](vbscript:msgbox)`,
  `[x](data:text/html;base64,PHNjcmlwdD4=)`, `[x](data:image/svg+xml,<svg onload=${SCRIPT}>)`, `[x](file:///etc/passwd)`, `[x](blob:https://evil.example/1)`,
  `[x](//evil.example)`, `[x](/\\evil.example)`, `[x](\\\\evil.example)`, `[x](/.//evil.example)`, `[x](/..//evil.example)`, `[x](/%2e//evil.example)`,
  `[x](https:evil.example)`, `[x](https:\\\\evil.example)`, `[x](https://good.example@evil.example)`, `[x](https://user:password@evil.example/)`,
  `[x](/ok "onmouseover=${SCRIPT}")`, `[x](/ok "\\" onmouseover=${SCRIPT} x=\\"")`, `[x](/ok"onmouseover="${SCRIPT})`, `[x](/a'onclick='${SCRIPT})`,
  `[x][y]\n\n[y]: javascript:${SCRIPT}`, `[x]\n\n[x]: <javascript:${SCRIPT}> "t"`, `<javascript:${SCRIPT}>`, `<data:text/html,${SCRIPT}>`, `<https://evil.example/"onclick="${SCRIPT}>`,
  `https://evil.example/"onclick="${SCRIPT}`, `https://evil.example/<script>${SCRIPT}</script>`, `[<img src=x onerror=${SCRIPT}>](/ok)`, `[x](https://evil.example/\u202egnp.exe)`,
  `[\`<script>\`](/ok)`, `[x](ftp://evil.example/)`, `[x](tel:+1)`, `[x](ws://evil.example)`, `[x](view-source:javascript:${SCRIPT})`, `[x](jar:https://evil.example!/)`,
];

const pictures = [
  `![x](javascript:${SCRIPT})`, `![x](data:image/svg+xml;base64,PHN2Zz4=)`, `![x](https://evil.example/pixel.gif)`, `![x](//evil.example/pixel.gif)`, `![x](/\\evil.example/pixel.gif)`,
  `![" onerror=${SCRIPT} x="](/a.png)`, `![x](/a.png "\\" onerror=${SCRIPT}")`, `![x](/a.png"onerror="${SCRIPT})`, `![<script>${SCRIPT}</script>](/a.png)`,
  `[![x](https://evil.example/pixel.gif)](javascript:${SCRIPT})`, `[![x](https://evil.example/pixel.gif)](/ok)`, `![![x](https://evil.example/a)](https://evil.example/b)`, `![x](blob:null)`,
];

const blocks = [
  `\`\`\`"><script>${SCRIPT}</script>\nx\n\`\`\``, `\`\`\`x" onclick="${SCRIPT}\nx\n\`\`\``, `\`\`\`html\n</code></pre><script>${SCRIPT}</script>\n\`\`\``, `    </code></pre><script>${SCRIPT}</script>`,
  `\`</code><script>${SCRIPT}</script>\``, `# <script>${SCRIPT}</script>`, `> <iframe src=//evil.example>`, `- <img src=x onerror=${SCRIPT}>`, `|<script>|\n|-|\n|<img src=x onerror=${SCRIPT}>|`,
  `|a|\n|:-" onclick="x|\n|b|`, `@<script>`, `@"onclick=${SCRIPT}`, `@../../admin`, `@bob"onclick="${SCRIPT}`, `~~<script>${SCRIPT}</script>~~`, `&lt;script&gt;${SCRIPT}&lt;/script&gt;`,
  `&#60;script&#62;${SCRIPT}&#60;/script&#62;`, `\\<script>${SCRIPT}</script>`, `**<b onclick=${SCRIPT}>**`, `1000000000. <script>`, `<a name="x">`, `[x]: <script> "</script>"\n[x]`,
];

export const HOSTILE: readonly string[] = [...html, ...links, ...pictures, ...blocks];

const table = (columns: number, rows: number): string => `${'|a'.repeat(columns)}\n${'|-'.repeat(columns)}\n${'|\n'.repeat(rows)}`;

/** Texts of 64 KiB that would make a page many times their size. */
export const SWELLING: readonly string[] = [
  table(2, 28_000), table(8_000, 16_000), `${table(70, 140)}\n`.repeat(110), `> ${table(100, 200).replaceAll('\n', '\n> ')}`, 'a|b\n-|-\n\n'.repeat(6_500), table(1, 20_000),
  '# a\n'.repeat(16_000), 'a\n-\n'.repeat(16_000), '![a](/assets/)'.repeat(4_681), 'http://a.b '.repeat(5_900), '```\n'.repeat(16_000),
];
/** The same length, of marks that a careless parser looks at again and again. */
export const REPEATING: readonly string[] = [
  '[', '![', '[](', '[a](<', '[x](', '*a **a ', '*a_ ', '**a *b ', 'a**b', '_a __b ___c ', '~~a ~', '`a``b', '>', '> - ', '- ', '1. ', '<', '<!--', '<a b="', '&', '&#x', '"', '@', '@a ', 'a@', '\\', '[a]: x "\n', '[a]:\n', '[a\n',
  'https://', 'mailto:', '*[a`<http://', '***\n', '|', '|\n',
].map((marks) => marks.repeat(64 * 1024 / marks.length));

/** Small texts that make careless parsers slow. */
export const INTRICATE: readonly string[] = [
  '['.repeat(2_000), '[]('.repeat(680), '![' .repeat(1_000), '*a '.repeat(680), '**a _b '.repeat(290), '`'.repeat(2_000), '>'.repeat(2_000), '- '.repeat(1_000), '<'.repeat(2_000),
  '&'.repeat(2_000), '\\'.repeat(2_000), '~~a'.repeat(680), 'a@'.repeat(1_000), '@'.repeat(2_000), 'https://'.repeat(250), '|'.repeat(1_000) + '\n' + '|-'.repeat(500), '[a]'.repeat(600) + '\n\n[a]: /x',
  '`a ``b ```c '.repeat(160), '"'.repeat(2_000), `${'a'.repeat(1_900)}@`, 'mailto:'.repeat(280), '((((('.repeat(400), '<!--'.repeat(500), `[${'\\]'.repeat(900)}`, '1. '.repeat(600), '\u0000'.repeat(2_000),
];
