import { HttpError, InvalidInput } from '#core';

type Fields = { [key: string]: unknown };

/** More is no form that anybody filled in. */
const MOST_FIELDS = 1_000;
const DEEPEST = 5;
const KEY = /^([^[\]]+)((?:\[[^[\]]*\])*)$/;
const FORBIDDEN = new Set(['__proto__', 'prototype', 'constructor']);

/** `a[b]` makes an object, `a[]` and a repeated `a` a list; a key that does not look like either is taken as it is. */
export function parseForm(text: string): Fields {
  const result: Fields = Object.create(null) as Fields;
  const pairs = [...new URLSearchParams(text)];
  if (pairs.length > MOST_FIELDS) throw new HttpError(413, `A form may have ${MOST_FIELDS} fields`);
  for (const [key, value] of pairs) {
    const found = KEY.exec(key);
    const path = found ? [found[1] ?? '', ...[...(found[2] ?? '').matchAll(/\[([^\]]*)\]/g)].map((match) => match[1] ?? '')] : [key];
    if (path.length > DEEPEST || path.some((part) => FORBIDDEN.has(part))) throw new InvalidInput([{ field: key.slice(0, 80), message: 'is not a field name' }]);
    put(result, path, value);
  }
  return lists(result) as Fields;
}

function put(target: Fields, [name = '', ...rest]: readonly string[], value: string): void {
  if (rest.length === 0) {
    const before = target[name];
    target[name] = before === undefined ? value : Array.isArray(before) ? [...(before as unknown[]), value] : [before, value];
    return;
  }
  if (rest.length === 1 && rest[0] === '') {
    const before = target[name];
    target[name] = [...(Array.isArray(before) ? (before as unknown[]) : []), ...(value === '' ? [] : [value])];
    return;
  }
  const below = target[name];
  const next = isFields(below) ? below : (Object.create(null) as Fields);
  target[name] = next;
  put(next, rest, value);
}

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Objects whose keys are 0, 1, 2 … were lists. */
function lists(value: unknown): unknown {
  if (!isFields(value)) return value;
  const entries = Object.entries(value).map(([key, inner]) => [key, lists(inner)] as const);
  if (entries.length > 0 && entries.every(([key]) => /^\d{1,4}$/.test(key))) return entries.sort(([a], [b]) => Number(a) - Number(b)).map(([, inner]) => inner);
  return Object.fromEntries(entries);
}
