import { defineCommand, operated, type Command } from '../command.ts';
import { ConfigurationError, didYouMean } from '../../errors.ts';
import { check, Type, type TSchema } from '../../schema.ts';
import { RUN } from '../../host/site.ts';
import { Settings, type SettingInfo } from '../../settings.ts';
import { Program } from '../program.ts';

const shown = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

function find(settings: Settings, key: string): SettingInfo {
  const all = settings.list();
  const found = all.find((setting) => setting.key === key);
  if (found) return found;
  const keys = all.map((setting) => setting.key);
  const otherwise = `see them all with: ${RUN} setting list`;
  throw new ConfigurationError(`There is no setting "${key}"; ${didYouMean(key, keys, otherwise)}`);
}

/**
 * Parses the text as JSON if the schema accepts the result, otherwise takes it literally: `setting set site.name My
 * place` needs no nested quotes.
 */
function valueOf(schema: TSchema, text: string): unknown {
  let value: unknown = text;
  try {
    value = JSON.parse(text);
  } catch {
    return text;
  }
  const fits = (candidate: unknown): boolean => check(Type.Object({ value: schema }), { value: candidate }).ok;
  return !fits(value) && fits(text) ? text : value;
}

const list = defineCommand({
  name: 'setting list',
  summary: 'Lists settings with their values.',
  example: 'setting list security.',
  positional: ['prefix'],
  options: Type.Object({ prefix: Type.Optional(Type.String({ description: 'Only keys with this prefix' })) }),
  needs: { settings: Settings },
  run({ settings }, { prefix = '' }, console) {
    const found = settings
      .list()
      .filter(
        ({ key, schema }) => key.startsWith(prefix) && (schema as { 'x-group'?: string })['x-group'] !== 'hidden',
      );
    if (found.length === 0)
      throw new ConfigurationError(`No setting begins with "${prefix}"; see them all with: ${RUN} setting list`);
    for (const setting of found.toSorted((a, b) => (a.key < b.key ? -1 : 1))) {
      const value = setting.secret
        ? setting.stored
          ? '(secret, set)'
          : '(secret, not set)'
        : JSON.stringify(setting.value);
      console.print(`${setting.key} = ${value}${setting.stored ? '' : '  (default)'}`);
    }
  },
});

const get = defineCommand({
  name: 'setting get',
  summary: 'Prints the value of a setting.',
  example: 'setting get site.name',
  positional: ['key'],
  options: Type.Object({ key: Type.String({ description: 'The full dotted key' }) }),
  needs: { settings: Settings },
  run({ settings }, { key }, console) {
    const setting = find(settings, key);
    if (setting.secret)
      throw new ConfigurationError(
        `"${key}" is a secret and is never shown; set a new value with: ${RUN} setting set ${key} VALUE`,
      );
    console.print(shown(setting.value));
  },
});

const set = defineCommand({
  name: 'setting set',
  summary: 'Changes a setting, also in a running server.',
  example: 'setting set site.name "The slipway"',
  positional: ['key', 'value'],
  options: Type.Object({
    key: Type.String({ description: 'The full dotted key' }),
    value: Type.String({ description: 'JSON, or plain text if the setting is text' }),
  }),
  needs: { app: Program },
  async run({ app: { data, hooks, settings } }, { key, value }, console) {
    const setting = find(settings, key);
    await data.transaction(async () => {
      await settings.set({ [key]: valueOf(setting.schema, value) });
      await hooks.emit(operated, { done: 'set', subject: key });
    });
    console.print(setting.secret ? `${key} is set.` : `${key} = ${JSON.stringify(settings.get(key))}`);
  },
});

/** `setting list|get|set`. Secrets can be set but are never shown. */
export const settingCommands: readonly Command[] = [list, get, set];
