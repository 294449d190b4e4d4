import { existsSync } from 'node:fs';
import { LRUCache } from 'lru-cache';
import Negotiator from 'negotiator';
import { timezoneNamed } from 'parley-forum/plugins/accounts';
import type { Phrase, Wording } from '../api.ts';
import type { SentenceKind, Sentences } from './sentences.ts';
import { usableTexts } from './themes.ts';

type Message = string | Readonly<Partial<Record<Intl.LDMLPluralRule, string>>>;
type Messages = ReadonlyMap<string, Message>;

/** Languages written from right to left. */
const RIGHT_TO_LEFT = new Set(['ar', 'dv', 'fa', 'he', 'ku', 'ps', 'sd', 'ug', 'ur', 'yi']);

/** The zone if this machine knows it, else UTC. */
const knownZone = (zone: string): string => timezoneNamed(zone) ?? 'UTC';

/** Formatters of a language that do not depend on the time zone. */
interface Formatters {
  readonly plural: Intl.PluralRules;
  readonly number: Intl.NumberFormat;
  readonly relative: Intl.RelativeTimeFormat;
  readonly near: Intl.RelativeTimeFormat;
}
const formattersOf = (id: string): Formatters => ({
  plural: new Intl.PluralRules(id),
  number: new Intl.NumberFormat(id),
  relative: new Intl.RelativeTimeFormat(id, { style: 'short' }),
  near: new Intl.RelativeTimeFormat(id, { numeric: 'auto', style: 'short' }),
});

/** Translations of English sentences in code, by kind; without one, a sentence stays English. */
type SentenceTexts = Readonly<Partial<Record<SentenceKind, Sentences>>>;

interface LocaleOptions {
  readonly formatters: Formatters;
  /** The site's time zone. */
  readonly zone: () => string;
  readonly ownZone: string | undefined;
  readonly sentences: SentenceTexts;
}
interface Formats {
  /** As configured, even if this machine does not know it. */
  readonly zone: string;
  readonly known: string;
  readonly date: Intl.DateTimeFormat;
  readonly day: Intl.DateTimeFormat;
}

/**
 * One language of the pages: texts by `plugin:key`, plurals, numbers and times. Falls back to English for texts that a
 * translation lacks.
 */
export class Locale {
  readonly id: string;
  readonly direction: 'ltr' | 'rtl';
  /** The time zone that the reader chose; undefined: the site's. */
  readonly ownZone: string | undefined;
  readonly #messages: (owner: string, id: string) => Messages;
  readonly #formatters: Formatters;
  readonly #zone: () => string;
  readonly #sentences: SentenceTexts;
  #formats: Formats | undefined;

  constructor(
    id: string,
    messages: (owner: string, id: string) => Messages,
    { formatters, zone, ownZone, sentences }: LocaleOptions,
  ) {
    this.id = id;
    this.ownZone = ownZone;
    this.#sentences = sentences;
    this.direction = RIGHT_TO_LEFT.has(id.split('-')[0] ?? id) ? 'rtl' : 'ltr';
    this.#messages = messages;
    this.#formatters = formatters;
    this.#zone = zone;
  }

  get zone(): string {
    return this.#dateFormats.known;
  }

  /** Locales with the same key render everything alike. */
  get key(): string {
    return this.ownZone === undefined || this.ownZone === this.#zone() ? this.id : `${this.id} ${this.ownZone}`;
  }

  /**
   * `key` is `owner:name`. A key that has no text in any language is returned as it is, so that it is noticed. `count`
   * selects the plural form.
   */
  text(key: string, values: Readonly<Record<string, unknown>> = {}): string {
    const colon = key.indexOf(':');
    const [owner, name] = [key.slice(0, Math.max(0, colon)), key.slice(colon + 1)];
    const message = this.#messages(owner, this.id).get(name) ?? this.#messages(owner, 'en').get(name);
    if (message === undefined) return key;
    const form =
      typeof message === 'string'
        ? message
        : (message[this.#formatters.plural.select(Number(values['count']))] ?? message.other ?? key);
    return form.replace(/\{([a-zA-Z_]+)\}/g, (placeholder, value: string) =>
      value in values ? this.#format(values[value]) : placeholder,
    );
  }

  /** Translates a phrase; returns a string unchanged. */
  say(wording: Wording): string {
    return typeof wording === 'string' ? wording : this.text(wording.key, wording.values);
  }

  /** Translates the English message of a failure or of one field's problem. */
  failure(message: string): string {
    return this.#sentences.failures?.say(this.id, message) ?? message;
  }

  /** Translates an English text that a plugin declares in code. */
  declared(text: string, plugin?: string): string {
    return this.#sentences.declared?.say(this.id, text, plugin) ?? text;
  }

  number(value: number): string {
    return this.#formatters.number.format(value);
  }

  /**
   * Absolute, in this locale's time zone and naming it. If that is the site's zone, the page's script shows the
   * reader's local time instead.
   */
  date(value: Date): string {
    return this.#dateFormats.date.format(value);
  }

  day(value: Date): string {
    return this.#dateFormats.day.format(value);
  }

  relative(value: Date, now: number): string {
    const seconds = (value.getTime() - now) / 1000;
    const unit = unitOf(seconds);
    if (!unit) return this.#formatters.near.format(0, 'second');
    // "Yesterday" reads better than "1 day ago", but "last yr." hides how long ago it was.
    const format = unit.name === 'day' ? this.#formatters.near : this.#formatters.relative;
    return format.format(Math.trunc(seconds / unit.size), unit.name);
  }

  /** Created again when the site's time zone changes. */
  get #dateFormats(): Formats {
    const zone = this.ownZone ?? this.#zone();
    if (this.#formats?.zone === zone) return this.#formats;
    const known = knownZone(zone);
    const day = { year: 'numeric', month: 'long', day: 'numeric', timeZone: known } as const;
    const date = new Intl.DateTimeFormat(this.id, {
      ...day,
      hour: 'numeric',
      minute: '2-digit',
      timeZoneName: 'short',
    });
    return (this.#formats = { zone, known, date, day: new Intl.DateTimeFormat(this.id, day) });
  }

  #format(value: unknown): string {
    if (typeof value === 'number') return this.number(value);
    return isPhrase(value) ? this.say(value) : String(value ?? '');
  }
}

/** Needed because templates also pass values that other helpers returned. */
const isPhrase = (value: unknown): value is Phrase =>
  typeof value === 'object' && value !== null && typeof (value as Partial<Phrase>).key === 'string';

/** In seconds. A month is a twelfth of the mean year. */
const UNITS = [
  { name: 'year' as const, least: 31_556_952, size: 31_556_952 },
  { name: 'month' as const, least: 2_629_746, size: 2_629_746 },
  { name: 'week' as const, least: 1_209_600, size: 604_800 },
  { name: 'day' as const, least: 86_400, size: 86_400 },
  { name: 'hour' as const, least: 3_600, size: 3_600 },
  { name: 'minute' as const, least: 60, size: 60 },
];

const unitOf = (seconds: number): (typeof UNITS)[number] | undefined =>
  UNITS.find(({ least }) => Math.abs(seconds) >= least);

/** The time in epoch milliseconds at which `relative` starts to return a different text for this date. */
export function relativeUntil(value: Date, now: number): number {
  const seconds = (value.getTime() - now) / 1000;
  const unit = unitOf(seconds);
  if (!unit) return value.getTime() + UNITS.at(-1)!.least * 1000;
  const { least, size } = unit;
  const shown = Math.trunc(Math.abs(seconds) / size) * size;
  if (seconds > 0) return value.getTime() - Math.max(shown, least) * 1000;
  const larger = UNITS[UNITS.indexOf(unit) - 1]?.least ?? Infinity;
  return value.getTime() + Math.min(shown + size, larger) * 1000;
}

/** Characters. Browsers do not send longer Accept-Language headers. */
const MAX_REMEMBERED_LENGTH = 200;
/** How many combinations of language and time zone are cached: some members have a time zone of their own. */
const MAX_LOCALES = 300;
const NONE: Messages = new Map();

/**
 * The files that may contain the texts of an owner (a plugin's id, or `theme`) in a language; later files override
 * earlier ones.
 */
export type TextFiles = (owner: string, language: string) => readonly string[];

/** The offered languages and each owner's texts, which are read on first use. */
export class Locales {
  readonly #filesOf: TextFiles;
  readonly #offered: ReadonlySet<string>;
  readonly #zone: () => string;
  readonly #sentences: SentenceTexts;
  readonly #unusable: (error: unknown) => void;
  readonly #files = new Map<string, Messages>();
  readonly #locales = new LRUCache<string, Locale>({ max: MAX_LOCALES });
  /** By language and shared by its locales, because they take more memory than the rest of a locale. */
  readonly #formatters = new Map<string, Formatters>();
  /** Browsers send only a few different headers, and parsing one takes longer than sending a cached page. */
  readonly #chosen = new LRUCache<string, string>({ max: 100 });

  /**
   * English is always offered. `zone`: the time zone in which times are shown; read live. `unusable`: called with the
   * error of each file whose texts cannot be used.
   */
  constructor(
    files: TextFiles,
    offered: readonly string[],
    {
      zone = () => 'UTC',
      unusable = () => undefined,
      ...sentences
    }: SentenceTexts & { readonly zone?: () => string; readonly unusable?: (error: unknown) => void } = {},
  ) {
    this.#filesOf = files;
    this.#unusable = unusable;
    this.#zone = zone;
    this.#sentences = sentences;
    this.#offered = new Set(['en', ...offered]);
  }

  get offered(): readonly string[] {
    return [...this.#offered].sort();
  }

  /** Reads an owner's texts in every offered language now, so that later changes on disk have no effect. */
  load(owner: string): void {
    for (const language of this.#offered) this.#messages(owner, language);
  }

  /** A language by id, with times in the given zone or else the site's; English if the language is not installed. */
  get(id: string, zone?: string | null): Locale {
    const language = this.#offered.has(id) ? id : 'en';
    const ownZone = zone ?? undefined;
    const key = `${language} ${ownZone}`;
    const known = this.#locales.get(key);
    if (known) return known;
    const formatters = this.#formatters.get(language) ?? formattersOf(language);
    this.#formatters.set(language, formatters);
    const locale = new Locale(language, (owner, one) => this.#messages(owner, one), {
      formatters,
      zone: this.#zone,
      ownZone,
      sentences: this.#sentences,
    });
    this.#locales.set(key, locale);
    return locale;
  }

  /**
   * The id of the first chosen language that is offered, else of the best match of the Accept-Language header, else
   * `fallback`.
   */
  choose(chosen: readonly (string | null | undefined)[], header: string | undefined, fallback: string): string {
    const own = chosen.find((one) => typeof one === 'string' && this.#offered.has(one));
    if (typeof own === 'string') return own;
    if (!header || this.#offered.size === 1) return fallback;
    const key = `${fallback} ${header}`;
    let id = this.#chosen.get(key);
    if (id === undefined) {
      // Among equally acceptable languages the first one wins.
      const offered = [fallback, ...this.#offered].filter((one) => this.#offered.has(one));
      id = new Negotiator({ headers: { 'accept-language': header } }).language(offered) ?? fallback;
      if (key.length <= MAX_REMEMBERED_LENGTH) this.#chosen.set(key, id);
    }
    return id;
  }

  #messages(owner: string, language: string): Messages {
    const key = `${owner} ${language}`;
    let messages = this.#files.get(key);
    if (!messages) this.#files.set(key, (messages = this.#read(owner, language)));
    return messages;
  }

  #read(owner: string, language: string): Messages {
    const files = this.#filesOf(owner, language).filter((file) => existsSync(file));
    if (files.length === 0) return NONE;
    return new Map(files.flatMap((file) => Object.entries<Message>(usableTexts(file, this.#unusable))));
  }
}
