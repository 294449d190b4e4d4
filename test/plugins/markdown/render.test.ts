import { afterAll, describe, expect, it } from 'vitest';
import { Renderer } from '../../../plugins/markdown/service.ts';
import { Workshop } from '../../../plugins/markdown/workshop.ts';

const rules = { origin: 'http://localhost:3000', imageHosts: ['pictures.example'] };
const renderer = new Renderer(rules, async (html) => html);
afterAll(() => renderer.close());
const render = (source: string): Promise<string> => renderer.render(source);

describe('Markdown', () => {
  it('leaves the first two levels of headings to the page, and no level out below them', async () => {
    expect(await render('# One\n\n## Two\n\n#### Four\n\n###### Six')).toBe(
      '<h3 dir="auto">One</h3>\n<h4 dir="auto">Two</h4>\n<h5 dir="auto">Four</h5>\n<h6 dir="auto">Six</h6>\n');
    expect(await render('## Two\n\n### Three\n\n## Two\n\n# One')).toBe(
      '<h3 dir="auto">Two</h3>\n<h4 dir="auto">Three</h4>\n<h3 dir="auto">Two</h3>\n<h3 dir="auto">One</h3>\n');
  });

  it('keeps line breaks, as people write them', async () => {
    expect(await render('one\ntwo')).toBe('<p dir="auto">one<br />\ntwo</p>\n');
  });

  it('lets the first strong letter decide the direction of each outermost block', async () => {
    const html = await render('مرحبا\n\n> quote\n\n- item\n\n|a|\n|-|\n|b|');
    for (const tag of ['p', 'blockquote', 'ul', 'table']) expect(html).toContain(`<${tag} dir="auto">`);
    expect(html).toContain('<li>item</li>');
  });

  it('shows code as it is, left to right, with its language as a class', async () => {
    expect(await render('```TypeScript {1}\nif (a < b && c) "x";\n```')).toBe(
      '<pre dir="ltr" tabindex="0"><code class="language-typescript">if (a &lt; b &amp;&amp; c) "x";\n</code></pre>\n');
  });

  it('aligns columns by class, never by style', async () => {
    const html = await render('|a|b|\n|:-:|--:|\n|1|~~2~~|');
    expect(html).toContain('<th class="align-center">a</th>');
    expect(html).toContain('<td class="align-right"><s>2</s></td>');
    expect(html).not.toContain('style');
  });

  it('shows HTML as text', async () => {
    expect(await render('a <b>bold</b> &amp; <!-- hidden -->')).toBe('<p dir="auto">a &lt;b&gt;bold&lt;/b&gt; &amp; &lt;!-- hidden --&gt;</p>\n');
  });

  it('shows tasks as signs', async () => {
    expect(await render('- [ ] sand\n- [x] varnish')).toContain('<li>☐ sand</li>\n<li>☑ varnish</li>');
  });
});

describe('a link', () => {
  it('to another host tells search engines not to count it', async () => {
    expect(await render('[x](https://other.example/y)')).toContain('<a href="https://other.example/y" rel="nofollow ugc noopener">x</a>');
  });

  it('to this site is an ordinary one', async () => {
    expect(await render('[x](/d/3#p2) [y](http://localhost:3000/d/4) <z@other.example>')).toContain(
      '<a href="/d/3#p2">x</a> <a href="http://localhost:3000/d/4">y</a> <a href="mailto:z@other.example">z@other.example</a>');
  });

  it('is made of a bare address, but not of a file name', async () => {
    const html = await render('see https://other.example/a_b. and README.md');
    expect(html).toContain('href="https://other.example/a_b"');
    expect(html.match(/<a /g)).toHaveLength(1);
  });

  it('is made of a mention, without the sentence’s full stop', async () => {
    expect(await render('Ask @mira.k. Or (@Otto)!')).toContain(
      'Ask <a href="/u/mira.k" class="mention">@mira.k</a>. Or (<a href="/u/Otto" class="mention">@Otto</a>)!');
  });

  it('is not made of what only looks like a mention', async () => {
    expect(await render('`@code` [@label](/x) https://other.example/@name a@b.example @x @../up @zoéline')).not.toContain('/u/');
  });
});

describe('a picture', () => {
  it('of this site or an allowed host is shown, when it comes into view', async () => {
    expect(await render('![A scarf joint](/a.png "t")')).toContain('<img src="/a.png" alt="A scarf joint" title="t" loading="lazy" decoding="async" />');
    expect(await render('![x](https://pictures.example/a.png)')).toContain('<img src="https://pictures.example/a.png"');
  });

  it('of any other host is a link under its description, so that nobody is counted by it', async () => {
    expect(await render('![Pixel](https://other.example/p.gif)')).toBe('<p dir="auto"><a href="https://other.example/p.gif" rel="nofollow ugc noopener">Pixel</a></p>\n');
    expect(await render('[![Pixel](https://other.example/p.gif)](/x)')).toBe('<p dir="auto"><a href="/x">Pixel</a></p>\n');
  });
});

describe('rendering', () => {
  it('gives long texts the same result through the worker as short ones on the spot', async () => {
    const line = 'Some *text* with a [link](https://other.example) and @mira.\n\n';
    expect(await render(line.repeat(600))).toBe((await render(line)).repeat(600));
  });

  it('refuses more than 64 KiB, counted in bytes', async () => {
    await expect(render('é'.repeat(32 * 1024))).resolves.toContain('é');
    await expect(render('é'.repeat(32 * 1024) + 'a')).rejects.toMatchObject({ status: 400, details: [{ field: 'content' }] });
  });

  it('refuses a text whose definitions multiply', async () => {
    await expect(render(`[a]: /${'x'.repeat(2_000)}\n\n${'[a]'.repeat(20_000)}`)).rejects.toMatchObject({ status: 400 });
  });

  it('gives up on what takes too long, and goes on with the next text', async () => {
    const workshop = new Workshop(rules);
    const slow = workshop.run({ step: 'parse', text: '*never* finished in a moment\n\n'.repeat(50_000) }, 1);
    const next = workshop.run({ step: 'parse', text: 'next' });
    await expect(slow).rejects.toMatchObject({ status: 400 });
    await expect(next).resolves.toContain('next');
    await workshop.close();
  });

  it('sanitises what other plugins add', async () => {
    const decorated = new Renderer(rules, async (html) => `${html}<span class="code-string evil" onclick="x()">ok</span><script>x()</script>`);
    expect(await decorated.render('a')).toBe('<p dir="auto">a</p>\n<span class="code-string">ok</span>');
    await decorated.close();
  });
});

describe('an excerpt', () => {
  it('is the words alone', () => {
    expect(renderer.excerpt('# Title\n\nSome **bold** [link](/x) and\n`code`.\n\n```\nhidden\n```\n![Alt](/a.png)', 200)).toBe('Title Some bold link and code. Alt');
  });

  it('ends at a word, within its length', () => {
    const text = renderer.excerpt('alpha beta gamma delta epsilon', 18);
    expect(text).toBe('alpha beta gamma…');
    expect(renderer.excerpt('😀'.repeat(40), 10)).toBe('😀😀😀😀…');
  });

  it('does not read more of a long text than it needs', () => {
    expect(renderer.excerpt('word '.repeat(200_000), 100).length).toBeLessThanOrEqual(100);
  });
});
