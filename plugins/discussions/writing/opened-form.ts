import type { Extension, PluginHandle } from 'parley-forum';
import { discussionFields, type DiscussionRecord, type Field } from 'parley-forum/plugins/discussions';
import { openedForm, openedIn, touchedIn } from 'parley-forum/plugins/web';
import { pinValues } from '../page-parts.ts';

// The forms of discussions and categories say what they were opened with: what nobody touched in one stays as others
// have made it since.

type Values = Readonly<Record<string, unknown>>;
/** By the names of the fields; those of other plugins where they can be said as text. */
export type FormValues = Readonly<Record<string, string>>;

/** Where it is pinned and until when are changed together. */
const PIN = ['pinned_in', 'pinned_until'];
/** What the form asks for itself; other plugins fill their fields. */
const OWN = ['title', 'category_id', ...PIN];

const isPlain = (value: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof value);
function shownText(field: Field, value: unknown): string | undefined {
  if (!field.save || value === undefined) return undefined;
  return field.formValue?.(value) ?? (isPlain(value) ? String(value) : undefined);
}

/** What a form shows of other plugins' fields of a record, as it sends it. */
export const shownFields = (fields: readonly Extension<Field>[], record: Values): FormValues =>
  Object.fromEntries(
    fields.flatMap(({ value: field }) => {
      const text = shownText(field, record[field.name]);
      return text === undefined ? [] : [[field.name, text]];
    }),
  );

/** What the form shows of a discussion, as it sends it. */
export const formValues = (plugin: PluginHandle, record: DiscussionRecord & Values, zone: string): FormValues => ({
  title: record.title,
  category_id: record.category_id,
  ...pinValues(record, zone),
  ...shownFields(plugin.extensions(discussionFields), record),
});

/** What the form begins with: its own fields, and that it was opened with all that it shows. */
export const initialForm = (values: FormValues): FormValues => ({
  ...Object.fromEntries(OWN.map((name) => [name, values[name] ?? ''])),
  _opened: openedForm(values),
});

export const touchedFields = <T extends Values>(sent: T): Partial<T> => touchedIn(sent, PIN);

/** Whether somebody else has meanwhile made something else of what was changed in the form. */
export function collides(sent: Values, now: FormValues): boolean {
  const opened = openedIn(sent);
  return Object.entries(touchedFields(sent)).some(
    ([name, value]) => opened[name] !== undefined && now[name] !== opened[name] && now[name] !== String(value),
  );
}
