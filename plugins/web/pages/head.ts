import { csrfPlaceholder, html, type PageHead, type PagePicture, type SafeHtml } from '../api.ts';
import { safeJson } from '../templates/helpers.ts';
import type { Locale } from '../themes/locales.ts';
import type { Branding } from '../themes/branding.ts';
import type { ThemeBundle } from '../themes/theme-bundle.ts';
import { NONCE_PLACEHOLDER } from './placeholders.ts';

export interface HeadContext {
  readonly head: PageHead;
  readonly bundle: ThemeBundle;
  readonly locale: Locale;
  readonly branding: Branding;
  readonly baseUrl: string;
  readonly scheme: '' | 'light' | 'dark';
  readonly member: boolean;
  /** Whether single-key shortcuts are enabled. */
  readonly keys: boolean;
}

/** The head content that every page needs, whatever the theme; the theme only decides its place. */
export function renderHead({ head, bundle, locale, branding, baseUrl, scheme, member, keys }: HeadContext): SafeHtml {
  const canonical = head.canonical === undefined ? undefined : baseUrl + head.canonical;
  const own = locale.say(head.title);
  const title = own === branding.name ? own : `${own} · ${branding.name}`;
  return html`<meta charset="utf-8">
<title>${title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1, interactive-widget=resizes-content">
<meta name="csrf-token" content="${csrfPlaceholder}">
<meta name="color-scheme" content="${scheme === '' ? 'light dark' : scheme}">
${themeColour(bundle, scheme)}
${head.description && html`<meta name="description" content="${head.description}">`}
${head.noindex && html`<meta name="robots" content="noindex">`}
${canonical && html`<link rel="canonical" href="${canonical}">`}
${(head.feeds ?? []).map(({ title: name, href, type }) => html`<link rel="alternate" type="${type}" title="${locale.say(name)}" href="${href}">\n`)}
${member ? '' : openGraph({ head, bundle, locale, branding, baseUrl }, canonical)}
${icons(branding.icon, bundle)}
<link rel="manifest" href="${bundle.manifest}">
${[...bundle.sheets, ...(bundle.pageSheets.get(head.name) ?? [])].map((sheet) => html`<link rel="stylesheet" href="${sheet}">\n`)}
${scripts(bundle, locale, { member, keys })}
${head.structuredData && html`<script type="application/ld+json">${safeJson(head.structuredData)}</script>`}`;
}

/** For sites that show previews of links; they see pages as guests. */
const openGraph = (
  { head, bundle, locale, branding, baseUrl }: Omit<HeadContext, 'scheme' | 'member' | 'keys'>,
  canonical: string | undefined,
): SafeHtml => html`<meta property="og:site_name" content="${branding.name}">
<meta property="og:title" content="${locale.say(head.title)}">
<meta property="og:type" content="${head.name === 'discussion' ? 'article' : 'website'}">
<meta property="og:locale" content="${locale.id.replace('-', '_')}">
${canonical && html`<meta property="og:url" content="${canonical}">`}
${head.description && html`<meta property="og:description" content="${head.description}">`}
${picture(head.picture ?? sitePicture(branding, bundle), baseUrl)}`;

/** The theme's picture has 1200 by 630 pixels, as link previews require. */
const sitePicture = ({ picture: url, name: alt }: Branding, bundle: ThemeBundle): PagePicture =>
  url === '' ? { url: bundle.asset('img/share.png'), width: 1200, height: 630, alt } : { url, alt };

const icons = (own: string, bundle: ThemeBundle): SafeHtml =>
  own === ''
    ? html`<link rel="icon" href="${bundle.asset('img/icon.svg')}" type="image/svg+xml">`
    : html`<link rel="icon" href="${own}"><link rel="apple-touch-icon" href="${own}">`;

/** Pixels of width from which link previews show the picture large. */
const LARGE_CARD_WIDTH = 600;

function picture({ url, width, height, alt }: PagePicture, baseUrl: string): SafeHtml {
  const size =
    width && height
      ? html`<meta property="og:image:width" content="${width}">
<meta property="og:image:height" content="${height}">
`
      : '';
  return html`<meta property="og:image" content="${new URL(url, baseUrl).href}">
${size}<meta property="og:image:alt" content="${alt}">
<meta name="twitter:card" content="${width === undefined || width >= LARGE_CARD_WIDTH ? 'summary_large_image' : 'summary'}">`;
}

function themeColour({ colours }: ThemeBundle, scheme: HeadContext['scheme']): SafeHtml {
  if (scheme !== '') return html`<meta name="theme-color" content="${colours[scheme]}">`;
  const one = (at: 'light' | 'dark'): SafeHtml =>
    html`<meta name="theme-color" media="(prefers-color-scheme: ${at})" content="${colours[at]}">`;
  return html`${one('light')}${one('dark')}`;
}

/** The scripts depend only on the theme, the language, whether the viewer is a member and whether shortcuts are on. */
const cachedScripts = new WeakMap<ThemeBundle, Map<string, SafeHtml>>();
function scripts(bundle: ThemeBundle, locale: Locale, page: Pick<HeadContext, 'member' | 'keys'>): SafeHtml {
  const cached = cachedScripts.get(bundle) ?? new Map<string, SafeHtml>();
  cachedScripts.set(bundle, cached);
  const key = `${locale.id} ${page.member} ${page.keys}`;
  const known = cached.get(key) ?? renderScripts(bundle, locale, page);
  cached.set(key, known);
  return known;
}

/**
 * The import map comes before the first module; both carry the response's nonce. The list of elements is data and needs
 * none.
 */
function renderScripts(bundle: ThemeBundle, locale: Locale, page: Pick<HeadContext, 'member' | 'keys'>): SafeHtml {
  const texts = Object.fromEntries(
    CLIENT_TEXTS.map((key) => [key, locale.text(`web:client.${key}`, KEEP_PLACEHOLDERS)]),
  );
  return html`<script type="importmap" nonce="${NONCE_PLACEHOLDER}">${safeJson({ imports: bundle.imports })}</script>
<script type="module" src="${bundle.client}" nonce="${NONCE_PLACEHOLDER}"></script>
<script type="module" src="${bundle.boot}" nonce="${NONCE_PLACEHOLDER}"></script>
<script type="application/json" id="forum">${safeJson({ elements: bundle.elements, texts, ...page })}</script>`;
}

// Texts that the boot script, its elements and elements inside posts show; all other texts come in the server's HTML.
const CLIENT_TEXTS = [
  'wait',
  'offline',
  'failed',
  'session',
  'ended',
  'over',
  'updated',
  'reload',
  'login',
  'cancel',
  'close',
  'idle',
  'stay',
  'more',
  'loaded',
  'write',
  'hide',
  'saved',
  'restored',
  'kept',
  'elsewhere',
  'bring',
  'discard',
  'caps',
  'copy',
  'copied',
];
const KEEP_PLACEHOLDERS = {};
