import type { FieldProblem } from 'parley-forum';
import { switchValue } from '../api.ts';

interface Schema {
  readonly type?: string;
  readonly title?: string;
  readonly description?: string;
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly const?: unknown;
  readonly items?: Schema;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly multipleOf?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly 'x-secret'?: boolean;
  readonly 'x-order'?: number;
  readonly 'x-group'?: string;
  /** The plugin that the field belongs to, in forms with fields of several plugins. */
  readonly 'x-plugin'?: string;
  readonly 'x-danger'?: boolean;
  readonly 'x-markdown'?: boolean;
}

/** One field for `partials/form/field`; `kind` chooses the partial, the rest are its arguments. */
interface FormField {
  readonly kind: 'input' | 'textarea' | 'switch' | 'select' | 'choices' | 'list';
  readonly name: string;
  readonly label: string;
  readonly [argument: string]: unknown;
}
export interface FormModel {
  readonly message: string | undefined;
  readonly problems: readonly { readonly field: string; readonly message: string; readonly label: string }[];
  readonly groups: readonly { readonly title: string | undefined; readonly fields: readonly FormField[] }[];
}

/** Up to this many choices are all visible at once; more go into a drop-down list. */
const MAX_SHOWN_CHOICES = 5;
/** Maximum length above which a text gets more than one line. */
const TEXTAREA_LENGTH = 120;
const FORMATS: Readonly<Record<string, string>> = {
  email: 'email',
  uri: 'url',
  date: 'date',
  time: 'time',
  color: 'color',
};

export interface FormTexts {
  /** Help text for a secret that is stored already. */
  readonly secretSet: string;
  readonly problem: string;
  /** Translates an English text from a plugin's schema. */
  declared(text: string, plugin?: string): string;
}

/** The view model of a form for an object schema. Pure, so that callers can build it anywhere. */
export function formModel(
  schema: object,
  values: Readonly<Record<string, unknown>>,
  problems: readonly FieldProblem[],
  texts: FormTexts,
): FormModel {
  const { properties = {}, required = [] } = schema as Schema;
  // Sorting is stable: fields without an order keep the schema's.
  const entries = Object.entries(properties).sort(([, a], [, b]) => (a['x-order'] ?? 0) - (b['x-order'] ?? 0));
  const wrong = new Map(problems.map(({ field, message }) => [field, message]));
  const label = (name: string): string =>
    texts.declared(properties[name]?.title ?? humanise(name), properties[name]?.['x-plugin']);
  // A problem inside a nested value belongs to the field that shows the value.
  const owner = (field: string): string =>
    Object.keys(properties).find((name) => field === name || field.startsWith(`${name}.`)) ?? field;
  const fields = entries.map(([name, own]) => {
    const given = { value: values[name], problem: problemOf(wrong, name), required: required.includes(name), texts };
    return { group: own['x-group'], field: toField(name, own, given) };
  });
  const groups = [...Map.groupBy(fields, ({ group }) => group)].map(([group, members]) => ({
    title: group && texts.declared(humanise(group)),
    fields: members.map(({ field }) => field),
  }));
  return {
    message: problems.length > 0 ? texts.problem : undefined,
    groups,
    problems: problems.map(({ field, message }) => ({ field: owner(field), message, label: label(owner(field)) })),
  };
}

const problemOf = (wrong: ReadonlyMap<string, string>, name: string): string | undefined =>
  wrong.get(name) ?? [...wrong].find(([field]) => field.startsWith(`${name}.`))?.[1];

interface FieldState {
  readonly value: unknown;
  readonly problem: string | undefined;
  readonly required: boolean;
  readonly texts: FormTexts;
}

function toField(name: string, schema: Schema, state: FieldState): FormField {
  const { value = schema.default, problem, required, texts } = state;
  const say = (text: string): string => texts.declared(text, schema['x-plugin']);
  const base: FieldBase = {
    name,
    label: say(schema.title ?? humanise(name)),
    help: schema.description && say(schema.description),
    problem,
    danger: schema['x-danger'],
  };
  if (schema['x-secret']) return secretField(base, value, texts);
  if (schema.type === 'boolean') return { ...base, kind: 'switch', checked: String(switchValue(value)) === 'true' };
  const choices = choicesOf(schema, say);
  if (choices) return choiceField(base, choices, value, required);
  if (schema.type === 'array') return listField(base, schema, value, say);
  if (schema.type === 'integer' || schema.type === 'number') return numberField(base, schema, value, required);
  if (schema.type !== 'string') return jsonField(base, value);
  return textField(base, schema, value, required);
}

/** The properties that all fields have. */
interface FieldBase {
  readonly name: string;
  readonly label: string;
  readonly help: string | undefined;
  readonly problem: string | undefined;
  readonly danger: boolean | undefined;
}

/** Never filled in: stored secrets do not leave the server. */
function secretField(base: FieldBase, value: unknown, texts: FormTexts): FormField {
  const stored = value !== undefined && value !== '';
  const help = [base.help, stored && texts.secretSet].filter(Boolean).join(' ');
  return { ...base, kind: 'input', type: 'password', value: '', autocomplete: 'off', help };
}

const choiceField = (base: FieldBase, choices: readonly Choice[], value: unknown, required: boolean): FormField => ({
  ...base,
  required,
  value,
  kind: choices.length <= MAX_SHOWN_CHOICES ? 'choices' : 'select',
  options: withStoredChoice(choices, value),
});

function numberField(base: FieldBase, schema: Schema, value: unknown, required: boolean): FormField {
  const { minimum: min, maximum: max, multipleOf: step = schema.type === 'integer' ? 1 : 'any' } = schema;
  return {
    ...base,
    required,
    kind: 'input',
    type: 'number',
    value,
    min,
    max,
    hasMin: min !== undefined,
    hasMax: max !== undefined,
    step,
    inputmode: 'numeric',
  };
}

const jsonField = (base: FieldBase, value: unknown): FormField => ({
  ...base,
  kind: 'textarea',
  value: typeof value === 'string' ? value : JSON.stringify(value ?? null, undefined, 2),
  rows: 6,
});

function textField(base: FieldBase, schema: Schema, value: unknown, required: boolean): FormField {
  const { minLength = 0, maxLength = 0 } = schema;
  const limits = {
    // An empty string is a valid value: the field must be filled in only if there is a minimum length.
    required: required && minLength > 0,
    value,
    minlength: schema.minLength,
    maxlength: schema.maxLength,
    pattern: browserPattern(schema.pattern),
  };
  // A single-line field would lose line breaks.
  const several = !schema.pattern && (maxLength > TEXTAREA_LENGTH || /[\r\n]/.test(String(value ?? '')));
  if (schema['x-markdown'] || several) return { ...base, ...limits, kind: 'textarea' };
  return { ...base, ...limits, kind: 'input', type: FORMATS[schema.format ?? ''] ?? 'text' };
}

/**
 * The pattern, if browsers can parse it, which are stricter than JSON Schema; other patterns are checked by the server
 * alone.
 */
function browserPattern(pattern: string | undefined): string | undefined {
  try {
    return pattern && new RegExp(pattern, 'v').source;
  } catch {
    return undefined;
  }
}

type Say = (text: string) => string;

function listField(base: FieldBase, schema: Schema, value: unknown, say: Say): FormField {
  const values = Array.isArray(value) ? value : [];
  const choices = schema.items && choicesOf(schema.items, say);
  if (choices) {
    const { name } = base;
    return { ...base, name: `${name}[]`, field: name, kind: 'choices', type: 'checkbox', values, options: choices };
  }
  if (schema.items?.type !== 'string') return jsonField(base, value ?? []);
  return {
    ...base,
    kind: 'list',
    items: [...values.map(String), ''].map((item, index) => ({ value: item, number: index + 1 })),
  };
}

/**
 * Keeps a stored value that is no longer offered as a choice: otherwise the form would show another one, and store that
 * when it is saved.
 */
function withStoredChoice(choices: readonly Choice[], value: unknown): readonly Choice[] {
  const there =
    value === undefined || value === null || choices.some((choice) => String(choice.value) === String(value));
  return there ? choices : [...choices, { value, label: humanise(String(value)) }];
}

interface Choice {
  readonly value: unknown;
  readonly label: string;
}

/** The choices of an enumeration, declared by `enum` or by `anyOf`. */
function choicesOf({ enum: list, anyOf }: Schema, say: Say): readonly Choice[] | undefined {
  const choices: readonly Schema[] | undefined = list?.map((value) => ({ const: value })) ?? anyOf;
  if (!choices?.every((choice) => 'const' in choice)) return undefined;
  return choices.map(({ const: value, title = humanise(String(value)) }) => ({ value, label: say(title) }));
}

/**
 * `posts.rate_limit` → "Rate limit": the label of a field without a title. Text that is not a key is returned
 * unchanged.
 */
function humanise(name: string): string {
  if (!KEY.test(name)) return name;
  const text = (name.split('.').at(-1) ?? name).replaceAll(/[_-]/g, ' ').trim();
  return text.charAt(0).toUpperCase() + text.slice(1);
}
const KEY = /^[a-z0-9_.-]+$/;
