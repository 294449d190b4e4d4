import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { InvalidInput } from 'parley-forum';
import { permittedImages } from '../../../plugins/markdown/permitted-images.ts';
import { Renderer } from '../../../plugins/markdown/renderer.ts';
import { createSanitiser } from '../../../plugins/markdown/sanitise.ts';
import { RenderThread } from '../../../plugins/markdown/render-thread.ts';
import { REPEATING, SEARCHING, SLOW_CODE, SWELLING } from './hostile.ts';

const rules = { origin: 'http://localhost:3000', imageHosts: ['pictures.example'] };
const renderer = new Renderer(rules, async (html) => html);
afterAll(() => renderer.close());
const render = (source: string): Promise<string> => renderer.render(source);
/** About 64 KiB of ordinary text, the baseline for timings, as machines differ. */
const ORDINARY = 'A word *and* a [link](http://a.b/c) in `code`.\n\n'.repeat(1_365);

describe('Markdown', () => {
  it('starts headings at the third level, and skips no level below it', async () => {
    expect(await render('# One\n\n## Two\n\n#### Four\n\n###### Six')).toBe(
      '<h3 dir="auto">One</h3>\n<h4 dir="auto">Two</h4>\n<h5 dir="auto">Four</h5>\n<h6 dir="auto">Six</h6>\n',
    );
    expect(await render('## Two\n\n### Three\n\n## Two\n\n# One')).toBe(
      '<h3 dir="auto">Two</h3>\n<h4 dir="auto">Three</h4>\n<h3 dir="auto">Two</h3>\n<h3 dir="auto">One</h3>\n',
    );
  });

  it('keeps line breaks', async () => {
    expect(await render('one\ntwo')).toBe('<p dir="auto">one<br />\ntwo</p>\n');
  });

  it('sets the direction of each top-level block by its first strong character', async () => {
    const html = await render('مرحبا\n\n> quote\n\n- item\n\n|a|\n|-|\n|b|');
    for (const tag of ['p', 'blockquote', 'ul']) expect(html).toContain(`<${tag} dir="auto">`);
    expect(html).toContain('<div class="table-scroll" tabindex="0" role="region" aria-label="a" dir="auto"><table>');
    expect(html).toContain('<li>item</li>');
  });

  it('shows code verbatim, left to right, with the name of its language', async () => {
    expect(await render('```Cobol {1}\nif (a < b && c) "x";\n```')).toBe(
      '<figure class="code" dir="ltr"><figcaption>cobol</figcaption><x-copy></x-copy><pre dir="ltr" tabindex="0"><code class="language-cobol">if (a &lt; b &amp;&amp; c) "x";\n</code></pre></figure>\n',
    );
  });

  it('highlights code in dozens of languages, including embedded ones', async () => {
    const html = await render('```html\n<b>1</b><script>let a = "<"; // x</script>\n```\n\n~~~rs\nfn main() {}\n~~~');
    expect(html).toContain('<figcaption>HTML</figcaption>');
    expect(html).toContain('<span class="code-keyword">let</span> a = <span class="code-string">"&lt;"</span>');
    expect(html).toContain('<span class="code-comment">// x</span>');
    expect(html).toContain('<span class="code-keyword">fn</span> <span class="code-name">main</span>() {}');
  });

  it('skips highlighting that would make the page too large or take too long', async () => {
    const large = '{"a":1,"b":[true,null]}\n'.repeat(1_800);
    expect(await render(`\`\`\`json\n${large}\`\`\``)).not.toContain('<span');
    expect(await render(`\`\`\`json\n${large.slice(0, 4_000)}\`\`\``)).toContain('<span');
    const slow = vi
      .spyOn(RenderThread.prototype, 'run')
      .mockImplementationOnce(() => Promise.reject(new InvalidInput([{ field: 'content', message: 'too intricate' }])));
    expect(await render('```js\nlet a\n```')).toContain('<code class="language-js">let a\n</code>');
    slow.mockRestore();
  });

  it('aligns columns by class, never by inline style', async () => {
    const html = await render('|a|b|\n|:-:|--:|\n|1|~~2~~|');
    expect(html).toContain('<th class="align-center">a</th>');
    expect(html).toContain('<td class="align-right"><s>2</s></td>');
    expect(html).not.toContain('style');
  });

  it('shows HTML as text', async () => {
    expect(await render('a <b>bold</b> &amp; <!-- hidden -->')).toBe(
      '<p dir="auto">a &lt;b&gt;bold&lt;/b&gt; &amp; &lt;!-- hidden --&gt;</p>\n',
    );
  });

  it('shows tasks as labelled, disabled checkboxes', async () => {
    expect(await render('- [ ] sand\n- [x] *varnish*')).toContain(
      '<li class="task"><label><input type="checkbox" disabled="disabled" /> sand</label></li>\n' +
        '<li class="task"><label><input type="checkbox" disabled="disabled" checked="checked" /> <em>varnish</em></label></li>',
    );
  });

  it('links footnotes both ways, with ids that are unique to each text', async () => {
    const source = 'One[^a], again[^a].\n\n[^a]: The *note*.';
    const [first, second] = [await render(source), await render(source)];
    const ids = [...first.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id!);
    expect(ids).toHaveLength(3);
    for (const id of ids) {
      expect(first).toContain(`href="#${id}"`);
      expect(second).not.toContain(id);
    }
  });

  it('collapses inline and block spoilers', async () => {
    expect(await render('He ||really *dies*|| there || and || .')).toBe(
      '<div dir="auto">He <details class="spoiler words"><summary>Spoiler</summary>really <em>dies</em></details> there <details class="spoiler words"><summary>Spoiler</summary> and </details> .</div>\n',
    );
    expect(await render(':::spoiler The <end>\n- He dies\n:::\n\n|| || a')).toBe(
      '<details dir="auto" class="spoiler"><summary>The &lt;end&gt;</summary>\n<ul>\n<li>He dies</li>\n</ul>\n</details>\n<p dir="auto">|| || a</p>\n',
    );
  });
});

describe('a link', () => {
  it('to another host is marked nofollow', async () => {
    expect(await render('[x](https://other.example/y)')).toContain(
      '<a href="https://other.example/y" rel="nofollow ugc noopener">x</a>',
    );
  });

  it('to this site is an ordinary link', async () => {
    expect(await render('[x](/d/3#p2) [y](http://localhost:3000/d/4) <z@other.example>')).toContain(
      '<a href="/d/3#p2">x</a> <a href="http://localhost:3000/d/4">y</a> <a href="mailto:z@other.example">z@other.example</a>',
    );
  });

  it('is created for a bare URL, but not for a file name', async () => {
    const html = await render('see https://other.example/a_b. and README.md');
    expect(html).toContain('href="https://other.example/a_b"');
    expect(html.match(/<a /g)).toHaveLength(1);
  });

  it('is created for a mention, without the full stop after it', async () => {
    expect(await render('Ask @mira.k. Or (@Otto)!')).toContain(
      'Ask <a href="/u/mira.k" class="mention">@mira.k</a>. Or (<a href="/u/Otto" class="mention">@Otto</a>)!',
    );
  });

  it('is not created for what only looks like a mention', async () => {
    expect(
      await render('`@code` [@label](/x) https://other.example/@name a@b.example @x @../up @zoéline'),
    ).not.toContain('/u/');
  });
});

describe('an image', () => {
  it('from this site or an allowed host is shown with lazy loading', async () => {
    expect(await render('![A scarf joint](/uploads/1/a.png "t")')).toContain(
      '<img src="/uploads/1/a.png" alt="A scarf joint" title="t" loading="lazy" decoding="async" />',
    );
    expect(await render('![x](https://pictures.example/a.png)')).toContain('<img src="https://pictures.example/a.png"');
  });

  it.each([
    '/uploads/1/a.png',
    '/assets/a.png',
    'http://localhost:3000/uploads/1/a.png',
    '/api/../uploads/1/a.png',
    'https://pictures.example/a.png',
  ])('is allowed from %s', async (address) => {
    expect(await render(`![x](<${address}>)`)).toMatch(/<img src="[^"]*(?:uploads|assets|pictures)/);
  });

  it.each([
    '/api/discussions?x=?&offset=100000',
    '/a.png',
    '/logout',
    '/uploads',
    '/uploadsx/a.png',
    '/Uploads/1/a.png',
    '/uploads/../api/x',
    '/uploads/%2e%2e/api/x',
    '/uploads/.%2E/api/x',
    '/uploads/..%2fapi/x',
    '/uploads/%252e%252e/api/x',
    '/uploads/..\\api\\x',
    '/uploads\\..\\api/x',
    '/assets/./../api/x',
    '/\tapi/x',
    '/uploads/.\t./api/x',
    'http://localhost:3000/api/x',
    'HTTP://LOCALHOST:3000/api/x',
    'http://localhost:3000/uploads/../api/x',
    'http://localhost:3000/uploads/%2E%2e/api/x',
    'http://user@localhost:3000/uploads/1/a.png',
    '//localhost:3000/api/x',
    '/\\localhost:3000/api/x',
    'http://pictures.example/a.png',
    'https://pictures.example:444/a.png',
  ])('is never allowed from %j, whether posted or added by a plugin', async (address) => {
    expect(await render(`![x](<${address}>)`)).not.toContain('<img');
    expect(createSanitiser(rules)(`<img src="${address}">`)).toBe('');
  });

  it('from a route of this site becomes a link with its alt text', async () => {
    expect(await render('![list](/api/discussions?x=1)')).toBe(
      '<p dir="auto"><a href="/api/discussions?x=1">list</a></p>\n',
    );
  });

  it('from any other host becomes a link with its alt text, so that it cannot track readers', async () => {
    expect(await render('![Pixel](https://other.example/p.gif)')).toBe(
      '<p dir="auto"><a href="https://other.example/p.gif" rel="nofollow ugc noopener">Pixel</a></p>\n',
    );
    expect(await render('[![Pixel](https://other.example/p.gif)](/x)')).toBe(
      '<p dir="auto"><a href="/x">Pixel</a></p>\n',
    );
  });
});

describe('stored HTML from before the image rules', () => {
  const { origin } = rules;
  const judged = (html: string): string => permittedImages(html, origin);

  it('has forbidden images replaced by their alt text', () => {
    for (const address of [
      '/api/x?a=1&amp;b=2',
      '/a.png',
      'http://localhost:3000/logout',
      '//localhost:3000/api/x',
      '/uploads/../api/x',
      '/uploads/%2e%2e/x',
      '&#x2F;api',
      'http://other.example/a.png',
    ]) {
      expect(judged(`<p>a <img src="${address}" alt="my &lt;list&gt;" loading="lazy" /> b</p>`)).toBe(
        '<p>a my &lt;list&gt; b</p>',
      );
      expect(judged(`<a href="/x"><IMG alt="" src="${address}"></a>`)).toBe(`<a href="/x">${address}</a>`);
    }
    expect(judged('<p><img alt="x"></p>')).toBe('<p>x</p>');
  });

  it('keeps all other images unchanged, whatever their host', () => {
    for (const address of [
      '/uploads/1/a.png',
      '/assets/a.png',
      'http://localhost:3000/uploads/1/a.png',
      'https://other.example/a.png?a=1&amp;b=2',
    ]) {
      const html = `<p><img src="${address}" alt="a" width="3" height="4" loading="lazy" /></p>`;
      expect(judged(html)).toBe(html);
    }
    expect(judged('<p>&lt;img src="/api/x"&gt;</p>')).toBe('<p>&lt;img src="/api/x"&gt;</p>');
  });
});

describe('rendering', () => {
  it('gives long texts the same result in the worker as short ones in place', async () => {
    const line = 'Some *text* with a [link](https://other.example) and @mira.\n\n';
    expect(await render(line.repeat(600))).toBe((await render(line)).repeat(600));
  });

  it('refuses more than 64 KiB, counted in bytes', async () => {
    await expect(render('é'.repeat(32 * 1024))).resolves.toContain('é');
    await expect(render('é'.repeat(32 * 1024) + 'a')).rejects.toMatchObject({
      status: 400,
      details: [{ field: 'content' }],
    });
  });

  it('refuses a text that repeats a long link definition', async () => {
    await expect(render(`[a]: /${'x'.repeat(2_000)}\n\n${'[a]'.repeat(20_000)}`)).rejects.toMatchObject({
      status: 400,
    });
  });

  it.each(SWELLING.map((source) => [source.slice(0, 12), source] as const))(
    'refuses to render a large page from %j…',
    async (_, source) => {
      expect(Buffer.byteLength(source)).toBeLessThanOrEqual(64 * 1024);
      await expect(render(source)).rejects.toMatchObject({
        status: 400,
        details: [{ field: 'content', message: expect.stringMatching(/10,000 cells|256 KiB|too complex/) }],
      });
    },
  );

  it.each(REPEATING.map((source) => [source.slice(0, 12), source] as const))(
    'limits the output for %j repeated',
    async (_, source) => {
      const [result] = await Promise.allSettled([render(source)]);
      const html = result.status === 'fulfilled' ? result.value : '';
      expect(Buffer.byteLength(html)).toBeLessThanOrEqual(256 * 1024);
      expect(result).toMatchObject(
        result.status === 'fulfilled' ? {} : { reason: { status: 400, details: [{ field: 'content' }] } },
      );
    },
  );

  describe('takes proportionate time', () => {
    const thread = new RenderThread(rules);
    /** CPU time in milliseconds, the minimum of some runs, as a busy machine increases even that. */
    const took = async (text: string): Promise<number> => {
      const times: number[] = [];
      for (let time = 0; time < 3; time++) {
        const budget = { left: 10_000 };
        await thread.run({ step: 'parse', text }, budget);
        times.push(10_000 - budget.left);
      }
      return Math.min(...times);
    };
    let ordinary: number;
    beforeAll(async () => void (ordinary = await took(ORDINARY)));
    afterAll(() => thread.close());

    it.each(SEARCHING.map((source) => [source.slice(0, 12), source] as const))(
      'for a text that starts with %j',
      async (_, text) => expect((await took(text)) / ordinary).toBeLessThan(20),
    );
  });

  it.each(SLOW_CODE.map((source) => [source.slice(0, 20), source] as const))(
    'renders code that is hard to highlight in bounded time and size: %j…',
    async (_, source) => {
      const begun = process.cpuUsage();
      const html = await render(source);
      // CPU time of all threads: wall-clock time includes what else a busy machine does.
      const { user, system } = process.cpuUsage(begun);
      expect((user + system) / 1_000).toBeLessThan(4_000);
      expect(html).toContain('<pre');
      expect(Buffer.byteLength(html)).toBeLessThanOrEqual(256 * 1024);
    },
  );

  it('accepts tables of realistic size', async () => {
    const rows = `| one | two | three | four |\n|-|-|-|-|\n${'| a cell | 12 | 34 | 56 |\n'.repeat(1_000)}`;
    expect((await render(rows)).match(/<tr>/g)).toHaveLength(1_001);
  });

  it('refuses a short text that expands excessively like a long one', async () => {
    await expect(render(`[a]: http://b.cd/${'x'.repeat(1_000)}\n\n${'[a] '.repeat(255)}`)).rejects.toMatchObject({
      status: 400,
      details: [{ field: 'content' }],
    });
  });

  it('aborts a text that takes too long, and continues with the next', async () => {
    const thread = new RenderThread(rules);
    const slow = thread.run({ step: 'parse', text: '*never* finished in a moment\n\n'.repeat(50_000) }, { left: 1 });
    const next = thread.run({ step: 'parse', text: 'next' }, { left: 10_000 });
    await expect(slow).rejects.toMatchObject({ status: 400 });
    await expect(next).resolves.toContain('next');
    await thread.close();
  });

  it('does not count the time that a busy machine spends on other work', async () => {
    const thread = new RenderThread(rules);
    const text = 'word *and* word\n\n'.repeat(8_000);
    await thread.run({ step: 'parse', text }, { left: 10_000 });
    const quiet = { left: 10_000 };
    await thread.run({ step: 'parse', text }, quiet);
    const others = Array.from({ length: 8 * availableParallelism() }, () => new Worker('for (;;);', { eval: true }));
    try {
      await Promise.all(others.map((other) => once(other, 'online')));
      const begun = performance.now();
      const budget = { left: 3 * (10_000 - quiet.left) };
      await expect(thread.run({ step: 'parse', text }, { ...budget })).resolves.toContain('<em>and</em>');
      expect(performance.now() - begun).toBeGreaterThan(budget.left);
    } finally {
      await Promise.all([thread.close(), ...others.map((other) => other.terminate())]);
    }
  });

  it('aborts by wall-clock time if the CPU time of the thread cannot be read', async () => {
    const thread = new RenderThread(rules);
    const unknown = vi.spyOn(Worker.prototype, 'cpuUsage').mockReturnValue(new Promise(() => {}));
    const slow = thread.run({ step: 'parse', text: '*never* finished in a moment\n\n'.repeat(50_000) }, { left: 1 });
    await expect(slow).rejects.toMatchObject({ status: 400 });
    unknown.mockRestore();
    await thread.close();
  });

  it('never gives a text the result of a previous one that timed out', async () => {
    const thread = new RenderThread(rules);
    // Takes about as long as its time limit, so that the result is sometimes in transit when the limit expires.
    const text = 'first *and* last\n\n'.repeat(200);
    await thread.run({ step: 'parse', text }, { left: 10_000 });
    for (let round = 0; round < 8; round++) {
      const [first, second] = await Promise.allSettled([
        thread.run({ step: 'parse', text }, { left: 1 + (round % 5) }),
        thread.run({ step: 'parse', text: `round ${round}` }, { left: 10_000 }),
      ]);
      expect(first.status === 'fulfilled' ? first.value.slice(0, 21) : first.reason.status).toBeOneOf([
        '<p dir="auto">first <',
        400,
      ]);
      expect(second).toEqual({ status: 'fulfilled', value: `<p dir="auto">round ${round}</p>\n` });
    }
    await thread.close();
  });

  it('counts all steps of a text towards one time limit', async () => {
    const thread = new RenderThread(rules);
    const time = { left: 10_000 };
    await thread.run({ step: 'parse', text: 'one *and* two\n\n'.repeat(2_000) }, time);
    const afterOne = time.left;
    await thread.run({ step: 'parse', text: 'one *and* two\n\n'.repeat(2_000) }, time);
    expect(afterOne).toBeLessThan(10_000);
    expect(time.left).toBeLessThan(afterOne);
    await thread.close();
  });

  it('ends a thread that was idle for a while, and starts another when needed', async () => {
    const thread = new RenderThread(rules, 20);
    expect(await thread.run({ step: 'parse', text: 'one' }, { left: 10_000 })).toContain('one');
    expect(thread.running).toBe(true);
    await expect.poll(() => thread.running).toBe(false);
    expect(await thread.run({ step: 'parse', text: 'two' }, { left: 10_000 })).toContain('two');
    await thread.close();
  });

  it('sanitises HTML added by other plugins', async () => {
    const decorated = new Renderer(
      rules,
      async (html) => `${html}<span class="code-string evil" onclick="x()">ok</span><script>x()</script>`,
    );
    expect(await decorated.render('a')).toBe('<p dir="auto">a</p>\n<span class="code-string">ok</span>');
    await decorated.close();
  });
});

describe('an excerpt', () => {
  it('is plain text only', () => {
    expect(
      renderer.excerpt('# Title\n\nSome **bold** [link](/x) and\n`code`.\n\n```\nhidden\n```\n![Alt](/a.png)', 200),
    ).toBe('Title Some bold link and code. Alt');
  });

  it.each([
    ['One two,\n  three (four):\n\n“five”; six – 7.5 %!', 'One two, three (four): “five”; six – 7.5 %!'],
    ['Title\n=====\ntext', 'Title text'],
    ['Title\n---\ntext', 'Title text'],
    ['First\n\n  2) second\n  - third\n  + fourth', 'First second third fourth'],
    ['Before\n\n\thidden code\n\nafter', 'Before after'],
    ['Before\n\n    hidden code\n\nafter', 'Before after'],
    ['3 &lt; 4 \\* 5', '3 < 4 * 5'],
    [':::spoiler End\nhidden\n:::', '…'],
  ])('of %j is %j', (source, words) => {
    expect(renderer.excerpt(source, 200)).toBe(words);
  });

  it('never reveals the content of a spoiler', () => {
    expect(renderer.excerpt('So ||he dies|| then.\n\n:::spoiler End\nAll die.\n:::\n\nBye', 200)).toBe(
      'So … then. … Bye',
    );
  });

  it.each([
    ['inline', `So ||he dies ${'and dies '.repeat(200)}|| then.`, 'So …'],
    ['inline between marks', `${'*a* '.repeat(20)}||he dies ${'and dies '.repeat(20)}|| then.`, `${'a '.repeat(20)}…`],
    ['inline, cut within its first mark', `${'word '.repeat(10)}${'_'.repeat(49)}||he dies|| ${'w '.repeat(500)}`, ''],
    ['a block', `So\n\n:::spoiler\n${'He dies. '.repeat(200)}\n:::`, 'So …'],
    [
      'inline before too large a table',
      `So ||he dies|| then.\n\n${'|a'.repeat(50)}\n${'|-'.repeat(50)}\n${'|\n'.repeat(500)}`,
      'So …',
    ],
    [
      'a block before too large a table',
      `So\n\n:::spoiler\nHe dies.\n:::\n\n${'|a'.repeat(50)}\n${'|-'.repeat(50)}\n${'|\n'.repeat(500)}`,
      'So …',
    ],
    ['inline in a list', `- So\n- ||he dies ${'and dies '.repeat(200)}||`, 'So …'],
    ['inline in a quotation', `> So ||he\n> dies ${'and dies '.repeat(200)}||`, 'So …'],
  ])('never reveals the start of a spoiler whose end it does not reach: %s', (_kind, source, words) => {
    const excerpt = renderer.excerpt(source, 100);
    expect([excerpt.includes('dies'), excerpt.startsWith(words)]).toEqual([false, true]);
  });

  it('of a long text keeps a vertical bar that is not a spoiler mark', () => {
    expect(renderer.excerpt(`a | b\n\n${'c '.repeat(700)}`, 20)).toBe('a | b c c c c c c…');
  });

  it('takes proportionate time, whatever the text starts with', () => {
    const least = (text: string): number => {
      const took = Array.from({ length: 5 }, () => {
        const before = performance.now();
        for (let n = 0; n < 100; n++) renderer.excerpt(`${n}${text}`, 280);
        return performance.now() - before;
      });
      return Math.min(...took);
    };
    const ordinary = least(ORDINARY);
    for (const piece of ['a@b.c ', '[', '![', '[^', '[a\n', '*a_b', '<http://a>', 'http://a.b/(', '- [ ] a\n'])
      expect([piece, least(piece.repeat(300)) < 12 * ordinary]).toEqual([piece, true]);
  });

  it('ends at a word boundary, within its length', () => {
    const text = renderer.excerpt('alpha beta gamma delta epsilon', 18);
    expect(text).toBe('alpha beta gamma…');
    expect(renderer.excerpt('😀'.repeat(40), 10)).toBe('😀😀😀😀…');
  });

  it('of a table with thousands of cells is its source, to save time', () => {
    const table = `${'|a'.repeat(50)}\n${'|-'.repeat(50)}\n${'|\n'.repeat(198)}`;
    expect(renderer.excerpt(table, 50)).toMatch(/^[|a]+/);
    expect(renderer.excerpt('|a|b|\n|-|-|\n|c|d|', 50)).toBe('a b c d');
  });

  it('does not read more of a long text than it needs', () => {
    expect(renderer.excerpt('word '.repeat(200_000), 100).length).toBeLessThanOrEqual(100);
  });
});
