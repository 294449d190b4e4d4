import { hash as digest } from 'node:crypto';
import { groupText, type Group } from 'parley-forum/plugins/access';
import { csrfField, html, SafeHtml } from '../api.ts';
import { relativeUntil, type Locale } from '../themes/locales.ts';

/** State of the current render for its helpers. Rendering is synchronous, so there is only one at a time. */
export interface RenderScope {
  readonly locale: Locale;
  /** Epoch milliseconds. */
  readonly now: number;
  readonly regions: Map<string, string>;
  /** Reports until when text that was just rendered stays true, in epoch milliseconds. */
  trueUntil(moment: number): void;
  asset(name: string): string;
  icon(name: string): string | undefined;
  /** Returns a placeholder; all slots of the page are filled together after rendering. */
  slot(id: string, context: unknown, fallback: string | undefined): SafeHtml;
  head(): SafeHtml;
  foot(): SafeHtml;
}

interface HelperOptions {
  /** The `name=value` pairs of the call. */
  readonly hash: Readonly<Record<string, unknown>>;
  /** Renders the content of the block, for block calls. */
  fn?(): string;
}
export type Helpers = Readonly<Record<string, (this: unknown, ...args: any[]) => unknown>>;

const SCHEMES = /^(https?:|mailto:|#|\?|\/(?!\/)|\.\.?\/)/i;

/** A URL that is safe to print: a path on this site, or an http, https or mailto URL; anything else becomes "#". */
function safeUrl(value: unknown): string {
  const text = String(value ?? '');
  return SCHEMES.test(text) && !text.includes('\\') ? text : '#';
}

/** One of the 24 hue classes; empty without a hue. */
const hueClass = (hue: unknown): string =>
  typeof hue === 'number' ? `hue-${(((Math.round(hue / 15) * 15) % 360) + 360) % 360}` : '';

const hueOf = (name: string): number => (digest('sha1', name, 'buffer')[0] ?? 0) * 15;

/** JSON for use inside a script element: no character in it can end the element or a string. */
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
  readonly display_name?: string | null;
  readonly avatar_url?: string | null;
}

/**
 * Every helper that templates can call; `scope` returns the state of the current render. The reference documents each.
 */
export function createHelpers(scope: () => RenderScope): Helpers {
  const sized = (value: unknown): string =>
    ['sm', 'lg', 'xl'].includes(String(value)) ? ` avatar-${String(value)}` : '';
  const shape = (name: unknown): SafeHtml | undefined => {
    const path = scope().icon(String(name));
    return path === undefined ? undefined : html`<path d="${path}"/>`;
  };
  const icon = (name: unknown, { hash }: HelperOptions): SafeHtml => {
    const kind = hash['flip'] ? 'icon icon-flip' : 'icon';
    if (hash['use']) return html`<svg class="${kind}" aria-hidden="true"><use href="#icon-${name}"/></svg>`;
    const drawn = shape(name);
    return drawn ? html`<svg class="${kind}" viewBox="0 0 24 24" aria-hidden="true">${drawn}</svg>` : new SafeHtml('');
  };
  const moment = (value: unknown, show: (date: Date) => string, relative: boolean): SafeHtml => {
    const date = toDate(value);
    if (!date) return new SafeHtml('');
    const { locale } = scope();
    return html`<time datetime="${date.toISOString()}" title="${locale.date(date)}"${relative ? new SafeHtml(' data-relative') : ''}>${show(date)}</time>`;
  };
  return {
    /**
     * `t "owner:key" name=value`: a text in the language of the page, with the values inserted; anything that is not a
     * key is printed as it is.
     */
    t: (key: unknown, { hash }: HelperOptions) => scope().locale.text(String(key), hash),
    /** `plural "owner:key" count name=value`: a text in the plural form for the count. */
    plural: (key: unknown, count: unknown, { hash }: HelperOptions) =>
      scope().locale.text(String(key), { ...hash, count: Number(count) }),
    /** `num count`: a number formatted for the language. */
    num: (value: unknown) => (value === undefined || value === null ? '' : scope().locale.number(Number(value))),
    /**
     * `time date date=true`: date and time, or with `date` the day alone, in the time zone of the reader or else the
     * site.
     */
    time: (value: unknown, { hash }: HelperOptions) =>
      moment(value, (date) => (hash['date'] ? scope().locale.day(date) : scope().locale.date(date)), false),
    /** `rel date`: how long ago it was; scripts keep it up to date. */
    rel: (value: unknown) =>
      moment(
        value,
        (date) => {
          const { locale, now, trueUntil } = scope();
          trueUntil(relativeUntil(date, now));
          return locale.relative(date, now);
        },
        true,
      ),
    /** `iso date`: ISO 8601 in UTC. */
    iso: (value: unknown) => toDate(value)?.toISOString() ?? '',
    /**
     * `url "/c/" slug "new" page=2`: a URL: the first part as it is, the others encoded and joined with `/`, named ones
     * as the query.
     */
    url: (...args: unknown[]) => {
      const { hash } = args.at(-1) as HelperOptions;
      const [first, ...parts] = args.slice(0, -1);
      const given = Object.entries(hash).map(([key, value]): [string, string] => [key, textOf(value)]);
      const query = new URLSearchParams(given.filter(([, value]) => value !== ''));
      const path = safeUrl(`${textOf(first)}${parts.map((part) => encodeURIComponent(textOf(part))).join('/')}`);
      return query.size > 0 ? `${path}${path.includes('?') ? '&' : '?'}${query}` : path;
    },
    /** `asset "img/x.svg"`: the URL of a file of the theme, or of a plugin as `@boats/x.png`. */
    asset: (name: unknown) => scope().asset(String(name)),
    /**
     * `icon "search" flip=true`: an icon of the theme’s icons.json; `flip` mirrors it in right-to-left languages, `use`
     * refers to one that `icons` defined.
     */
    icon,
    /** `icons "reply" "more"`: defines icons once for the whole page, to be shown by `{{icon "reply" use=true}}`. */
    icons: (...args: unknown[]) => {
      const symbols = args
        .slice(0, -1)
        .map((name) => html`<symbol id="icon-${name}" viewBox="0 0 24 24">${shape(name) ?? ''}</symbol>`);
      return html`<svg hidden>${symbols}</svg>`;
    },
    /** `hue 205`: the class of one of 24 hues. */
    hue: (value: unknown) => hueClass(value),
    /** `avatar person size="lg"`: the picture or the initial of a member; size is sm, lg or xl. */
    avatar: (person: Person | undefined, { hash }: HelperOptions) => {
      const name = person?.username ?? '?';
      if (person?.avatar_url)
        return html`<img class="avatar${sized(hash['size'])}" src="${safeUrl(person.avatar_url)}" alt="" width="40" height="40" loading="lazy" decoding="async">`;
      const letter = [...name.replace(/[^\p{L}\p{N}]/gu, '')][0] ?? '?';
      return html`<span class="avatar avatar-letter ${hueClass(hueOf(name))}${sized(hash['size'])}" aria-hidden="true">${letter.toLocaleUpperCase()}</span>`;
    },
    /**
     * `person author handle=true`: the name of a member, with the username in its title; `handle` adds the username
     * beside a display name, `text` prints plain text for a sentence.
     */
    person: (person: Person | undefined, { hash }: HelperOptions) => {
      const { username = '', display_name: name } = person ?? {};
      if (hash['text']) return name ? `${name} (@${username})` : username;
      if (!name) return html`<bdi>${username}</bdi>`;
      const handle = hash['handle'] ? html` <bdi class="handle">@${username}</bdi>` : '';
      return html`<bdi title="@${username}">${name}</bdi>${handle}`;
    },
    /**
     * `groupName user.group`: the name of a group; that of a built-in group is translated unless somebody has renamed
     * it.
     */
    groupName: (group: Pick<Group, 'id' | 'name'> | undefined) => {
      const text = group && groupText(group);
      return text === undefined ? (group?.name ?? '') : scope().locale.text(text);
    },
    /** `eq a b`: whether both are equal as text. */
    eq: (a: unknown, b: unknown) =>
      a === b || (a !== undefined && a !== null && b !== undefined && b !== null && String(a) === String(b)),
    /** `not value`: whether it is empty, false or absent. */
    not: (value: unknown) => !truthy(value),
    /** `and a b`: the first argument that is empty or false, else the last. */
    and: (...args: unknown[]) =>
      args.slice(0, -1).find((value) => !truthy(value)) ?? (args.slice(0, -1).every(truthy) ? args.at(-2) : false),
    /** `or a b`: the first argument that is neither empty nor false. */
    or: (...args: unknown[]) => args.slice(0, -1).find(truthy),
    /** `gt a b`: whether the first number is greater. */
    gt: (a: unknown, b: unknown) => Number(a) > Number(b),
    /** `has list item`: whether a list has an item, or an object a key. */
    has: (list: unknown, item: unknown) =>
      Array.isArray(list)
        ? list.includes(item)
        : typeof list === 'object' && list !== null && Object.hasOwn(list, String(item)),
    /** `list a b`: a list for a partial, without absent values. */
    list: (...args: unknown[]) =>
      args.slice(0, -1).filter((value) => value !== undefined && value !== null && value !== false),
    /** `object key=value`: an object for a partial. */
    object: ({ hash }: HelperOptions) => ({ ...hash }),
    /** `truncate text 80`: a text shortened to at most that many characters. */
    truncate: (value: unknown, length: unknown) => {
      const characters = [...textOf(value)];
      return characters.length <= Number(length)
        ? textOf(value)
        : `${characters
            .slice(0, Number(length) - 1)
            .join('')
            .trimEnd()}…`;
    },
    /** `json value`: data for a script element of type `application/json`. */
    json: (value: unknown) => safeJson(value),
    /** `csrf`: the hidden field with the CSRF token; `form` adds it automatically. */
    csrf: () => csrfField,
    /**
     * `#form "/path" class="…" data-enhance=true`: a POST form with its CSRF token; `data-enhance` submits it without
     * leaving the page, and with the value `stay` the page stays even after success. `opened=values`: the initial
     * values, so that fields the user leaves untouched keep changes that others make in the meantime.
     */
    form: function (this: unknown, action: unknown, { hash, fn }: HelperOptions) {
      const attributes = Object.entries(hash).filter(([key]) => FORM_ATTRIBUTES.has(key));
      const shown = attributes.map(([key, value]) =>
        value === undefined || value === false ? '' : html` ${key}="${value === true ? '' : value}"`,
      );
      const inner = new SafeHtml(fn?.() ?? '');
      const opened =
        hash['opened'] === undefined ? '' : html`<input type="hidden" name="_opened" value="${hash['opened']}">`;
      return html`<form method="post" action="${safeUrl(action)}"${shown}>${csrfField}${opened}${inner}</form>`;
    },
    /**
     * `slot "id" context`: the output of plugins for the slot, whose id must be a literal; as a block, its content is
     * the fallback if they add nothing.
     */
    slot: function (this: unknown, id: unknown, ...rest: unknown[]) {
      const { fn } = rest.at(-1) as HelperOptions;
      const context = rest.length > 1 ? rest[0] : this;
      return scope().slot(String(id), context, fn?.());
    },
    /** `#region "rail"`: moves its content to the region of the layout; without a block, prints the region there. */
    region: function (this: unknown, name: unknown, { fn }: HelperOptions) {
      const { regions } = scope();
      if (!fn) return new SafeHtml(regions.get(String(name)) ?? '');
      regions.set(String(name), `${regions.get(String(name)) ?? ''}${fn()}`);
      return '';
    },
    /** `head`: the content of every page’s `<head>`; for the layout. */
    head: () => scope().head(),
    /** `foot`: what scripts need at the end of every page; for the layout. */
    foot: () => scope().foot(),
  };
}
