import { createHash } from 'node:crypto';
import { csrfField, html, SafeHtml } from '../api.ts';
import type { Locale } from '../themes/locales.ts';

/** What the current render gives its helpers. Rendering is synchronous, so one at a time. */
export interface RenderScope {
  readonly locale: Locale;
  /** Epoch milliseconds. */
  readonly now: number;
  readonly regions: Map<string, string>;
  asset(name: string): string;
  icon(name: string): readonly string[] | undefined;
  /** Leaves a placeholder that is filled after rendering, for all slots of the page at once. */
  slot(id: string, context: unknown, fallback: string | undefined): SafeHtml;
  head(): SafeHtml;
  foot(): SafeHtml;
}

interface HelperOptions {
  readonly hash: Readonly<Record<string, unknown>>;
  fn?(context: unknown, options?: { data?: object }): string;
  readonly data?: object;
}
export type Helpers = Readonly<Record<string, (this: unknown, ...args: any[]) => unknown>>;

const SCHEMES = /^(https?:|mailto:|#|\?|\/(?!\/)|\.\.?\/)/i;

/**
 * A link that is safe to print: a path of this site, or an http, https or mailto URL; anything else becomes "#".
 */
export function safeUrl(value: unknown): string {
  const text = String(value ?? '');
  return SCHEMES.test(text) && !text.includes('\\') ? text : '#';
}

/** One of the 24 hue classes; nothing where there is no hue. */
export const hueClass = (hue: unknown): string =>
  typeof hue === 'number' ? `hue-${(((Math.round(hue / 15) * 15) % 360) + 360) % 360}` : '';

const hueOf = (name: string): number => (createHash('sha1').update(name).digest()[0] ?? 0) * 15;

/** Text for inside a script element: no character in it can end the element or the string. */
export const safeJson = (value: unknown): SafeHtml =>
  new SafeHtml(
    JSON.stringify(value ?? null).replace(
      /[<>&\u2028\u2029]/g,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
  );

const toDate = (value: unknown): Date | undefined => {
  const date = value instanceof Date ? value : new Date(String(value));
  return value === undefined || value === null || Number.isNaN(date.getTime()) ? undefined : date;
};

const truthy = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : Boolean(value));
const textOf = (value: unknown): string => (value === undefined || value === null ? '' : String(value));

const FORM_ATTRIBUTES = new Set([
  'class',
  'id',
  'role',
  'name',
  'autocomplete',
  'aria-label',
  'data-enhance',
  'enctype',
]);

interface Person {
  readonly username?: string;
  readonly avatar_url?: string | null;
}

/** Every helper templates may call; `scope` returns the state of the current render. README.md documents each. */
export function createHelpers(scope: () => RenderScope): Helpers {
  const sized = (value: unknown): string =>
    ['sm', 'lg', 'xl'].includes(String(value)) ? ` avatar-${String(value)}` : '';
  const icon = (name: unknown, { hash }: HelperOptions): SafeHtml => {
    const paths = scope().icon(String(name));
    if (!paths) return new SafeHtml('');
    const shapes = paths.map((d) => html`<path d="${d}"/>`);
    return html`<svg class="icon${hash['flip'] ? ' icon-flip' : ''}" viewBox="0 0 24 24" aria-hidden="true">${shapes}</svg>`;
  };
  const moment = (value: unknown, show: (date: Date) => string, relative: boolean): SafeHtml => {
    const date = toDate(value);
    if (!date) return new SafeHtml('');
    const { locale } = scope();
    return html`<time datetime="${date.toISOString()}" title="${locale.date(date)}"${relative ? new SafeHtml(' data-relative') : ''}>${show(date)}</time>`;
  };
  return {
    t: (key: unknown, { hash }: HelperOptions) => scope().locale.text(String(key), hash),
    plural: (key: unknown, count: unknown, { hash }: HelperOptions) =>
      scope().locale.text(String(key), { ...hash, count: Number(count) }),
    num: (value: unknown) => (value === undefined || value === null ? '' : scope().locale.number(Number(value))),
    time: (value: unknown, { hash }: HelperOptions) =>
      moment(value, (date) => (hash['date'] ? scope().locale.day(date) : scope().locale.date(date)), false),
    rel: (value: unknown) => moment(value, (date) => scope().locale.relative(date, scope().now), true),
    iso: (value: unknown) => toDate(value)?.toISOString() ?? '',
    url: (...args: unknown[]) => {
      const { hash } = args.at(-1) as HelperOptions;
      const [first, ...parts] = args.slice(0, -1);
      const given = Object.entries(hash).map(([key, value]): [string, string] => [key, textOf(value)]);
      const query = new URLSearchParams(given.filter(([, value]) => value !== ''));
      const path = safeUrl(`${textOf(first)}${parts.map((part) => encodeURIComponent(textOf(part))).join('/')}`);
      return query.size > 0 ? `${path}${path.includes('?') ? '&' : '?'}${query}` : path;
    },
    asset: (name: unknown) => scope().asset(String(name)),
    icon,
    hue: (value: unknown) => hueClass(value),
    avatar: (person: Person | undefined, { hash }: HelperOptions) => {
      const name = person?.username ?? '?';
      if (person?.avatar_url)
        return html`<img class="avatar${sized(hash['size'])}" src="${safeUrl(person.avatar_url)}" alt="" width="40" height="40" loading="lazy" decoding="async">`;
      const letter = [...name.replace(/[^\p{L}\p{N}]/gu, '')][0] ?? '?';
      return html`<span class="avatar avatar-letter ${hueClass(hueOf(name))}${sized(hash['size'])}" aria-hidden="true">${letter.toLocaleUpperCase()}</span>`;
    },
    eq: (a: unknown, b: unknown) =>
      a === b || (a !== undefined && a !== null && b !== undefined && b !== null && String(a) === String(b)),
    not: (value: unknown) => !truthy(value),
    and: (...args: unknown[]) =>
      args.slice(0, -1).find((value) => !truthy(value)) ?? (args.slice(0, -1).every(truthy) ? args.at(-2) : false),
    or: (...args: unknown[]) => args.slice(0, -1).find(truthy),
    gt: (a: unknown, b: unknown) => Number(a) > Number(b),
    has: (list: unknown, item: unknown) =>
      Array.isArray(list)
        ? list.includes(item)
        : typeof list === 'object' && list !== null && Object.hasOwn(list, String(item)),
    list: (...args: unknown[]) =>
      args.slice(0, -1).filter((value) => value !== undefined && value !== null && value !== false),
    object: ({ hash }: HelperOptions) => ({ ...hash }),
    truncate: (value: unknown, length: unknown) => {
      const characters = [...textOf(value)];
      return characters.length <= Number(length)
        ? textOf(value)
        : `${characters
            .slice(0, Number(length) - 1)
            .join('')
            .trimEnd()}…`;
    },
    json: (value: unknown) => safeJson(value),
    csrf: () => csrfField,
    form: function (this: unknown, action: unknown, { hash, fn, data }: HelperOptions) {
      const attributes = Object.entries(hash).filter(([key]) => FORM_ATTRIBUTES.has(key));
      const shown = attributes.map(([key, value]) =>
        value === undefined || value === false ? '' : html` ${key}="${value === true ? '' : value}"`,
      );
      const inner = new SafeHtml(fn?.(this, data ? { data } : {}) ?? '');
      return html`<form method="post" action="${safeUrl(action)}"${shown}>${csrfField}${inner}</form>`;
    },
    slot: function (this: unknown, id: unknown, ...rest: unknown[]) {
      const { fn, data } = rest.at(-1) as HelperOptions;
      const context = rest.length > 1 ? rest[0] : this;
      return scope().slot(String(id), context, fn?.(this, data ? { data } : {}));
    },
    region: function (this: unknown, name: unknown, { fn, data }: HelperOptions) {
      const { regions } = scope();
      if (!fn) return new SafeHtml(regions.get(String(name)) ?? '');
      regions.set(String(name), `${regions.get(String(name)) ?? ''}${fn(this, data ? { data } : {})}`);
      return '';
    },
    head: () => scope().head(),
    foot: () => scope().foot(),
  };
}
