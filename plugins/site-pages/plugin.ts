import { Cache, definePlugin, InvalidInput, Type } from 'parley-forum';
import { registerFields } from 'parley-forum/plugins/accounts';
import { Markdown } from 'parley-forum/plugins/markdown';
import {
  composerHints,
  fill,
  navigation,
  negotiated,
  pages,
  phrase,
  renderedTag,
  SafeHtml,
  slotFillings,
  view,
  Web,
} from 'parley-forum/plugins/web';
import { NAMES, OWN_TEXTS, type PageName } from './names.ts';

/** The maximum length of a text, in characters. */
const MAX_LENGTH = 20_000;
/** The length of a page's description for search engines, in characters. */
const DESCRIPTION_LENGTH = 160;
/** Pages that the sign-up form refers to. */
const BINDING: readonly PageName[] = ['guidelines', 'terms', 'privacy'];

/** Raises the headings by one level: in posts they are below the headings with the authors. */
const raised = (html: string): string =>
  html.replace(/<(\/?)h([3-6])\b/g, (_all, end: string, level: string) => `<${end}h${Number(level) - 1}`);

const text = (title: string) =>
  Type.String({
    default: '',
    maxLength: MAX_LENGTH,
    title,
    'x-markdown': true,
    description: 'Replaces the built-in text. Terms and legal notice are shown once they have one.',
  });

export default definePlugin({
  id: 'site-pages',
  name: 'Site pages',
  version: '1.0.0',
  description: 'Guidelines, help, privacy, terms and legal notice: pages that administrators can edit.',
  needs: { cache: Cache, markdown: Markdown, web: Web },
  settings: Type.Object({
    'site-pages.shown': Type.Array(Type.Enum([...NAMES]), {
      default: [...NAMES],
      uniqueItems: true,
      title: 'Pages that are there',
      description: 'With a link at the foot of every page.',
    }),
    'site-pages.guidelines': text('Guidelines'),
    'site-pages.help': text('Help'),
    'site-pages.privacy': text('Privacy'),
    'site-pages.terms': text('Terms of use'),
    'site-pages.imprint': text('Legal notice'),
  }),
  setup({ cache, markdown, web }, plugin) {
    const written = (name: PageName): string => plugin.settings[`site-pages.${name}`].trim();
    const isShown = (name: PageName): boolean =>
      plugin.settings['site-pages.shown'].includes(name) && (OWN_TEXTS.includes(name) || written(name) !== '');
    plugin.onSettings(() => cache.purge(renderedTag));
    plugin.checkSettings(async (values) => {
      const texts = NAMES.map((name) => `site-pages.${name}`).filter((key) => values[key]);
      const problems = await Promise.all(
        texts.map(async (field) => {
          const refused = await markdown.render(String(values[field])).catch((error: unknown) => error);
          if (typeof refused === 'string') return [];
          if (!(refused instanceof InvalidInput)) throw refused;
          return refused.details.map(({ message }) => ({ field, message }));
        }),
      );
      return problems.flat();
    });

    for (const [place, name] of NAMES.entries()) {
      const label = `site-pages:${name}`;
      /** The forum's own text; if there is none, the program's text in the reader's language. */
      const source = (): string => written(name) || web.say(phrase(`${label}.text`));
      plugin.extend(navigation, { area: 'footer', label, href: `/${name}`, visible: () => isShown(name) }, 100 + place);
      plugin.route(pages, {
        method: 'get',
        path: `/${name}`,
        can: 'public',
        load: () => (isShown(name) ? name : undefined),
        cacheTags: () => [renderedTag],
      })(async () => {
        const content = source();
        const html = await cache.remember(`site-pages ${markdown.permitted.rule} ${content}`, [], () =>
          markdown.render(content).then(raised),
        );
        const description = markdown.excerpt(content, DESCRIPTION_LENGTH);
        return negotiated(
          view(
            '@site-pages/page',
            { name: 'text', title: phrase(label), description, canonical: `/${name}` },
            { title: label, html: new SafeHtml(html) },
          ),
          { success: true, page: { name, content, html } },
        );
      });
    }

    plugin.extend(
      slotFillings,
      fill(registerFields, async (forms, viewer) => {
        const links = BINDING.filter(isShown).map((name) => ({ label: `site-pages:${name}`, href: `/${name}` }));
        if (links.length === 0) return [];
        const note = await web.fragment(viewer, '@site-pages/register-note', { links });
        return forms.map(() => note);
      }),
    );
    plugin.extend(
      slotFillings,
      fill(
        composerHints,
        async (fields, viewer) => {
          if (!isShown('help')) return [];
          const hint = await web.fragment(viewer, '@site-pages/composer-hint', { path: '/help' });
          return fields.map(() => hint);
        },
        { shared: true },
      ),
    );
  },
});
