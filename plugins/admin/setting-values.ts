import { check, InvalidInput, Type, type FieldProblem, type SettingInfo, type TSchema } from 'parley-forum';
import { switchValue } from 'parley-forum/plugins/web';

interface SettingSchema {
  readonly type?: string;
  readonly items?: SettingSchema;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly object[];
  readonly 'x-secret'?: boolean;
  readonly 'x-group'?: string;
}
const schemaOf = ({ schema }: SettingInfo): SettingSchema => schema;

export const isSecret = (setting: SettingInfo): boolean => schemaOf(setting)['x-secret'] === true;

/** The page on which a setting is shown: its `x-group`, or else its plugin. */
export const groupOf = (setting: SettingInfo): string => schemaOf(setting)['x-group'] ?? setting.plugin;

/** Whether a panel shows a setting: the group `hidden` is for the program's own records. */
export const isShown = (setting: SettingInfo): boolean => groupOf(setting) !== 'hidden';

/**
 * Converts a submitted form to values of the settings' types: text becomes numbers, booleans and lists. Omits empty
 * secrets and values that are unchanged since the form was `opened`. Throws 400 naming each field whose text is not
 * valid.
 */
export function fromForm(
  sent: Readonly<Record<string, unknown>>,
  settings: readonly SettingInfo[],
  opened: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const problems: FieldProblem[] = [];
  const changes: Record<string, unknown> = {};
  for (const setting of settings) {
    const { key, value } = setting;
    const input = sent[key];
    const before = Object.hasOwn(opened, key) ? opened[key] : value;
    if (input === undefined || (isSecret(setting) && input === '')) continue;
    const parsed = parseValue(setting, input);
    if (parsed.ok && sayable(setting, parsed.value) !== sayable(setting, before)) changes[key] = parsed.value;
    if (!parsed.ok) problems.push(...parsed.problems.map(({ message }) => ({ field: key, message })));
  }
  if (problems.length > 0) throw new InvalidInput(problems);
  return changes;
}

const isChoice = ({ enum: values, anyOf }: SettingSchema): boolean => values !== undefined || anyOf !== undefined;
const isSimple = (schema: SettingSchema): boolean =>
  isChoice(schema) || (schema.type !== undefined && schema.type !== 'object' && schema.type !== 'array');
/** Whether the form has a field or checkbox for each entry of the list. */
const isListed = ({ type, items = {} }: SettingSchema): boolean =>
  type === 'array' && (items.type === 'string' || isChoice(items));

/**
 * A value as text, reduced to what a form can express: lists have no blank entries and no line breaks in entries,
 * choices have no order, and all line endings are the same.
 */
function sayable(setting: SettingInfo, value: unknown): string {
  const schema = schemaOf(setting);
  if (typeof value === 'string') return value.replaceAll('\r\n', '\n');
  if (!Array.isArray(value) || !isListed(schema)) return JSON.stringify(value);
  const entries = value.map((entry) => String(entry).replace(/[\r\n]/g, '')).filter(Boolean);
  return JSON.stringify(isChoice(schema.items ?? {}) ? entries.sort() : entries);
}

function parseValue(
  setting: SettingInfo,
  input: unknown,
): { ok: true; value: unknown } | { ok: false; problems: readonly FieldProblem[] } {
  const schema = schemaOf(setting);
  // The form field of such a setting contains JSON.
  if (typeof input === 'string' && !isSimple(schema) && !isListed(schema)) {
    try {
      return { ok: true, value: JSON.parse(input) as unknown };
    } catch {
      return { ok: false, problems: [{ field: setting.key, message: 'is not valid JSON' }] };
    }
  }
  const sent = schema.type === 'array' ? input : switchValue(input);
  const { default: _default, ...bare } = setting.schema as TSchema & { default?: unknown };
  const result = check(Type.Object({ value: bare }), { value: sent }, { coerce: true });
  return result.ok ? { ok: true, value: result.value.value } : { ok: false, problems: result.problems };
}
