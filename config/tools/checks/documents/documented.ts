import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { clientSide } from '../../reference/client.ts';
import { contractRefs } from '../../reference/described.ts';
import { membersOf, PLUGIN_INTERFACES, type Documented } from '../../reference/members.ts';
import { helpers, TEMPLATE_DATA, templateData, templates } from '../../reference/templates.ts';
import type { Check } from '../support/check.ts';

/** Kinds of refs that authors use, which need a sentence in docs/reference; permissions have a label instead. */
const KINDS: Readonly<Record<string, string>> = {
  Action: 'action',
  Filter: 'filter',
  Query: 'query',
  ExtensionPoint: 'extension point',
  Token: 'service',
  Surface: 'surface',
};

/** Everything that docs/reference lists for authors of plugins and themes must be described in a sentence. */
export const documented: Check = {
  name: 'documented',
  async run(root) {
    const refs = contractRefs(root).flatMap(({ kind, id, text, place }) =>
      kind in KINDS && text === '' ? [`${place}: the ${KINDS[kind]} "${id}" has no sentence that describes it`] : [],
    );
    const browser = clientSide(root);
    return [
      ...refs,
      ...PLUGIN_INTERFACES.filter(([path]) => existsSync(join(root, path))).flatMap(([path, name]) =>
        missing(membersOf(root, path, name), `the member of ${name}`),
      ),
      ...missing(templates(root), 'the template', 'begin it with {{! What it is: what it gets. }}'),
      ...(existsSync(join(root, 'plugins/web/templates/helpers.ts'))
        ? missing(helpers(root), 'the helper', 'write above it /** `name argument`: what it prints. */')
        : []),
      ...(existsSync(join(root, TEMPLATE_DATA)) ? missing(templateData(root), 'the variable of templates') : []),
      ...missing(browser.exports, 'the export of @forum/client'),
      ...missing(browser.elements, 'the element'),
      ...missing(browser.events, 'the browser event'),
    ];
  },
};

const missing = (all: readonly Documented[], what: string, remedy = 'write it as a comment above'): readonly string[] =>
  all
    .filter(({ text }) => text === '')
    .map(({ name, place }) => `${place}: ${what} "${name}" has no sentence; ${remedy}`);
