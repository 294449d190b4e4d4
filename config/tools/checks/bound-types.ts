import ts from 'typescript';
import type { Check } from './support/check.ts';
import { readFiles, type SourceFile } from './support/files.ts';
import { nodesOf, parseSource, placeOf } from './support/source.ts';

/** PostgreSQL's built-in types that plugins use for parameters. Types created by migrations do not belong here. */
const BUILT_IN = new Set([
  'bigint',
  'boolean',
  'bytea',
  'date',
  'float8',
  'int',
  'integer',
  'interval',
  'json',
  'jsonb',
  'numeric',
  'regclass',
  'regconfig',
  'smallint',
  'text',
  'timestamptz',
  'tsquery',
  'uuid',
]);
const CAST = /^::\s*([a-z_][a-z0-9_]*)/;

/**
 * Parameters must have a type that every driver knows, and be cast in SQL from there: migrations may not have created
 * other types yet, and a driver may only know the types that existed when it connected.
 */
export const boundTypes: Check = {
  name: 'bound types',
  async run(root) {
    return readFiles(root, ['core', 'plugins', 'migrations'], /\.ts$/).flatMap(breaches);
  },
};

function breaches(file: SourceFile): readonly string[] {
  if (!file.text.includes('sql')) return [];
  const source = parseSource(file);
  return [...nodesOf(source)].filter(ts.isTaggedTemplateExpression).flatMap(({ template }) => {
    if (!ts.isTemplateExpression(template)) return [];
    const parts = [template.head, ...template.templateSpans.map(({ literal }) => literal)];
    return template.templateSpans.flatMap(({ expression, literal }, index) => {
      const place = placeOf(source, expression.getStart());
      const [, type] = CAST.exec(literal.text) ?? [];
      if (type !== undefined && !BUILT_IN.has(type))
        return [`${place}: binds ${type}, which is not built in; bind text and cast it in SQL: \${…}::text::${type}`];
      if (type === undefined && /\bany\s*\($/i.test(parts[index]!.text))
        return [`${place}: binds a list without its type; add it: any(\${…}::text[])`];
      return [];
    });
  });
}
