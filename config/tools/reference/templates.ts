import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { readFiles } from '../checks/support/files.ts';
import { nodesOf, parseSource, placeOf } from '../checks/support/source.ts';
import { commentOf } from './described.ts';
import { membersOf, type Documented } from './members.ts';

const HELPERS = 'plugins/web/templates/helpers.ts';
const TEMPLATE = /^(?:plugins\/([^/]+)\/views|themes\/default\/templates)\/(.+)\.hbs$/;
/** The comment that a template begins with: a sentence that says what it is, and then what it is given. */
const COMMENT = /^\{\{!\s([\s\S]*?)\}\}/;
const SENTENCE = /^\p{Lu}[\s\S]*[.]$/u;

/** Every view and shared template, by the name that themes replace it under. */
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

/** Every helper of the template language: its comment begins with how it is called. */
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

/** Where the types of what templates read as `@name` are declared, and which of them says what is in which. */
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

/** Every variable that templates have besides what they are given: `@site`, `@site.name`. */
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

/** The names of the default theme's icons. */
export const icons = (root: string): readonly string[] =>
  Object.keys(JSON.parse(readFileSync(join(root, 'themes/default/icons.json'), 'utf8')) as object);
