import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { readFiles } from '../checks/support/files.ts';
import { nodesOf, parseSource, placeOf } from '../checks/support/source.ts';
import { commentOf } from './described.ts';
import { membersOf, type Documented } from './members.ts';

const HELPERS = 'plugins/web/templates/helpers.ts';
const TEMPLATE = /^(?:plugins\/([^/]+)\/views|themes\/default\/templates)\/(.+)\.hbs$/;
/** The comment at the start of a template: a sentence that describes it, followed by its parameters. */
const COMMENT = /^\{\{!\s([\s\S]*?)\}\}/;
const SENTENCE = /^\p{Lu}[\s\S]*[.]$/u;

/** All views and shared templates, by the name under which themes override them. */
export const templates = (root: string): readonly Documented[] =>
  readFiles(root, ['plugins', 'themes'], TEMPLATE).map(({ path, text }) => {
    const [, plugin, name = ''] = TEMPLATE.exec(path) ?? [];
    const comment = (COMMENT.exec(text)?.[1] ?? '').replaceAll(/\s+/g, ' ').trim();
    return {
      name: plugin === undefined ? name : `@${plugin}/${name}`,
      signature: '',
      text: SENTENCE.test(comment) ? comment : '',
      place: `${path}:1`,
    };
  });

/** All helpers of the template language; their comments start with an example call. */
export function helpers(root: string): readonly Documented[] {
  const source = parseSource({ path: HELPERS, text: readFileSync(join(root, HELPERS), 'utf8') });
  const made = [...nodesOf(source)]
    .filter(ts.isFunctionDeclaration)
    .find(({ name }) => name?.text === 'createHelpers')
    ?.body?.statements.find(ts.isReturnStatement)?.expression;
  if (!made || !ts.isObjectLiteralExpression(made))
    throw new Error(`${HELPERS} no longer returns an object of helpers`);
  return made.properties.map((property) => {
    const [, usage = '', text = ''] = /^`([^`]+)`: (.+)$/s.exec(commentOf(property)) ?? [];
    return { name: property.name!.getText(), signature: usage, text, place: placeOf(source, property.getStart()) };
  });
}

/** The file that declares the types of the data that templates read as `@name`, and the type of each variable. */
export const TEMPLATE_DATA = 'plugins/web/pages/template-data.ts';
const DATA: ReadonlyArray<readonly [variable: string, type: string, path?: string]> = [
  ['', 'TemplateData'],
  ['site', 'TemplateSite'],
  ['viewer', 'TemplateViewer'],
  ['page', 'TemplatePage'],
  ['preferences', 'Preferences', 'plugins/web/appearance/preferences.ts'],
  ['navigation.<area>.<n>', 'TemplateLink'],
  ['sidebar.<n>', 'TemplateSection'],
];

/** All variables available in templates besides their parameters: `@site`, `@site.name`. */
export const templateData = (root: string): readonly Documented[] =>
  DATA.flatMap(([variable, type, path = TEMPLATE_DATA]) =>
    membersOf(root, path, type).map(({ name, signature, ...member }) => ({
      ...member,
      name: `@${variable === '' ? name : `${variable}.${name}`}`,
      signature: signature
        .replace(/^\w+\??: /, '')
        .replace(/^Template\w+.*|^Preferences$|^Level$|^Readonly<.*|^readonly .*/, ''),
    })),
  );

/** The names of the icons in the default theme. */
export const icons = (root: string): readonly string[] =>
  Object.keys(JSON.parse(readFileSync(join(root, 'themes/default/icons.json'), 'utf8')) as object);
