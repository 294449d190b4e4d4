import type { Extension, PluginHandle } from 'parley-forum';
import { discussionFields, type DiscussionRecord, type Field } from 'parley-forum/plugins/discussions';
import { openedForm, openedIn, touchedIn } from 'parley-forum/plugins/web';
import { pinValues } from '../page-parts.ts';

// The forms of discussions and categories include the values they were opened with, so that fields the user has not
// touched keep the changes that others made since.

type Values = Readonly<Record<string, unknown>>;
/** Form values by field name; fields of other plugins are included if they can be shown as text. */
export type FormValues = Readonly<Record<string, string>>;

/** Fields of the pin, which are changed together. */
const PIN = ['pinned_in', 'pinned_until'];
/** The form's own fields; other plugins add theirs. */
const OWN = ['title', 'category_id', ...PIN];

const isPlain = (value: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof value);
function shownText(field: Field, value: unknown): string | undefined {
  if (!field.save || value === undefined) return undefined;
  return field.formValue?.(value) ?? (isPlain(value) ? String(value) : undefined);
}

/** The text that a form shows, and submits, for other plugins' fields of a record. */
export const shownFields = (fields: readonly Extension<Field>[], record: Values): FormValues =>
  Object.fromEntries(
    fields.flatMap(({ value: field }) => {
      const text = shownText(field, record[field.name]);
      return text === undefined ? [] : [[field.name, text]];
    }),
  );

/** The text that the form shows, and submits, for a discussion. */
export const formValues = (plugin: PluginHandle, record: DiscussionRecord & Values, zone: string): FormValues => ({
  title: record.title,
  category_id: record.category_id,
  ...pinValues(record, zone),
  ...shownFields(plugin.extensions(discussionFields), record),
});

/** The form's initial values: its own fields, and all values it was opened with. */
export const initialForm = (values: FormValues): FormValues => ({
  ...Object.fromEntries(OWN.map((name) => [name, values[name] ?? ''])),
  _opened: openedForm(values),
});

export const touchedFields = <T extends Values>(sent: T): Partial<T> => touchedIn(sent, PIN);

/**
 * Whether someone else has changed a field to a different value since the form was opened, and the user has changed it
 * too.
 */
export function collides(sent: Values, now: FormValues): boolean {
  const opened = openedIn(sent);
  return Object.entries(touchedFields(sent)).some(
    ([name, value]) => opened[name] !== undefined && now[name] !== opened[name] && now[name] !== String(value),
  );
}
