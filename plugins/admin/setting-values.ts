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

/** The page a setting is on: its `x-group`, or its plugin's. */
export const groupOf = (setting: SettingInfo): string => schemaOf(setting)['x-group'] ?? setting.plugin;

/** Settings that a panel shows: those of the group `hidden` are the program's own notes. */
export const isShown = (setting: SettingInfo): boolean => groupOf(setting) !== 'hidden';

/**
 * What a form sent, as values of the settings' own types: text becomes numbers, switches and lists; an empty secret and
 * whatever is as it was when the form was `opened` are left out. Throws 400 naming each field whose text is no such value.
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
/** Whether its form has a field or box for each entry. */
const isListed = ({ type, items = {} }: SettingSchema): boolean =>
  type === 'array' && (items.type === 'string' || isChoice(items));

/**
 * As text, what a form can say of a value: lists have no blank entry there and no line break in one, choices no order,
 * and all lines end alike.
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
  // Its form field holds JSON.
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
