import type { PluginHandle } from 'parley-forum';
import { discussionFields, type DiscussionRecord, type Field } from 'parley-forum/plugins/discussions';
import { pinValues, textOf } from '../page-parts.ts';

// The form of a discussion says what it was opened with: what nobody touched in it stays as others have made it since.

type Values = Readonly<Record<string, unknown>>;
/** By the names of the fields; those of other plugins where they can be said as text. */
export type FormValues = Readonly<Record<string, string>>;

/** Where it is pinned and until when are changed together. */
const PIN = ['pinned_in', 'pinned_until'];
/** What the form asks for itself; other plugins fill their fields. */
const OWN = ['title', 'category_id', ...PIN];
/** The hidden field. */
const OPENED = 'opened';

const isPlain = (value: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof value);
function shownText(field: Field, value: unknown): string | undefined {
  if (!field.save || value === undefined) return undefined;
  return field.formValue?.(value) ?? (isPlain(value) ? String(value) : undefined);
}

/** What the form shows of a discussion, as it sends it. */
export function formValues(plugin: PluginHandle, record: DiscussionRecord & Values, zone: string): FormValues {
  const { title, category_id } = record;
  const own: [string, string][] = Object.entries({ title, category_id, ...pinValues(record, zone) });
  const others = plugin.extensions(discussionFields).flatMap(({ value: field }): [string, string][] => {
    const text = shownText(field, record[field.name]);
    return text === undefined ? [] : [[field.name, text]];
  });
  return Object.fromEntries([...own, ...others]);
}

/** What the form begins with: its own fields, and in a hidden one all that it shows. */
export const openedForm = (values: FormValues): FormValues => ({
  ...Object.fromEntries(OWN.map((name) => [name, values[name] ?? ''])),
  [OPENED]: new URLSearchParams(values).toString(),
});
const openedIn = (sent: Values): FormValues => Object.fromEntries(new URLSearchParams(textOf(sent[OPENED])));

/** What of a form is not as it was when it was opened; all of it where the form does not say how that was. */
export function touchedIn<T extends Values>(sent: T): Partial<T> {
  const opened = openedIn(sent);
  const names = Object.keys(sent).filter((name) => sent[name] !== undefined);
  const touched = names.filter((name) => name !== OPENED && String(sent[name]) !== opened[name]);
  const pins = touched.some((name) => PIN.includes(name)) ? names.filter((name) => PIN.includes(name)) : [];
  return Object.fromEntries([...touched, ...pins].map((name) => [name, sent[name]])) as Partial<T>;
}

/** Whether somebody else has meanwhile made something else of what was changed in the form. */
export function collides(sent: Values, now: FormValues): boolean {
  const opened = openedIn(sent);
  return Object.entries(touchedIn(sent)).some(
    ([name, value]) => opened[name] !== undefined && now[name] !== opened[name] && now[name] !== String(value),
  );
}
