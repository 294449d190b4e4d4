import { describe, expect, test } from 'vitest';
import { boundTypes } from '../config/tools/checks/bound-types.ts';
import { boundaries } from '../config/tools/checks/boundaries.ts';
import type { Check } from '../config/tools/checks/support/check.ts';
import { dependents } from '../config/tools/checks/dependents.ts';
import { documented } from '../config/tools/checks/documents/documented.ts';
import { exported } from '../config/tools/checks/exports.ts';
import { finished } from '../config/tools/checks/finished.ts';
import { folders } from '../config/tools/checks/folders.ts';
import { format } from '../config/tools/checks/format.ts';
import { glossary } from '../config/tools/checks/documents/glossary.ts';
import { lint } from '../config/tools/checks/lint.ts';
import { names } from '../config/tools/checks/names.ts';
import { publicInterface } from '../config/tools/checks/documents/public-interface.ts';
import { plugins } from '../config/tools/checks/plugins.ts';
import { PLATFORM } from '../config/tools/checks/support/platform.ts';
import { reference } from '../config/tools/checks/documents/reference.ts';
import { slots } from '../config/tools/checks/slots.ts';
import { snippets } from '../config/tools/checks/documents/snippets.ts';
import { types } from '../config/tools/checks/types.ts';
import { unused } from '../config/tools/checks/unused.ts';
import { vocabulary } from '../config/tools/checks/vocabulary.ts';
import { surfaceOf } from '../config/tools/api/surface.ts';
import { readReport, writeReport } from '../config/tools/api/report.ts';
import { environmentRows } from '../config/tools/reference/environment.ts';
import { plant } from './architecture/plant.ts';

async function findings(check: Check, files: Readonly<Record<string, string>>): Promise<readonly string[]> {
  using tree = plant(files);
  return await check.run(tree.root);
}

describe('each check reports what it exists for', () => {
  test('types: a wrong type, in server and in browser code', async () => {
    const found = await findings(types, {
      'core/wrong.ts': 'export const port: number = "3000";\n',
      'plugins/a/client/wrong.ts': 'export const title: number = document.title;\n',
      'plugins/a/service.ts': 'export const title: string = document.title;\n',
    });
    expect(found).toHaveLength(3);
    expect(found).toEqual(
      expect.arrayContaining([
        expect.stringContaining('core/wrong.ts(1,14): error TS2322'),
        expect.stringMatching(/plugins\/a\/client\/wrong\.ts\(1,14\): error TS2322/),
        expect.stringMatching(/plugins\/a\/service\.ts\(1,30\): error TS\d+: Cannot find name 'document'/),
      ]),
    );
  });

  test('types: syntax that Node cannot strip', async () => {
    expect(await findings(types, { 'core/wrong.ts': 'export enum Colour { red }\n' })).toEqual([
      expect.stringContaining('TS1294'),
    ]);
  });

  test('format: an unformatted file', async () => {
    const found = await findings(format, {
      'core/fine.ts': "export const port = '3000';\n",
      'core/wide.ts': 'export const port =   "3000"\n',
    });
    expect(found).toEqual(['core/wide.ts: is not formatted; run npm run format']);
  });

  test('lint: a floating promise, which takes type information to detect', async () => {
    const found = await findings(lint, {
      'core/careless.ts':
        'export const work = async (): Promise<number> => 1;\nexport function begin(): void {\n  work();\n}\n',
    });
    expect(found).toEqual([expect.stringMatching(/^core\/careless\.ts:3: typescript\(no-floating-promises\)/)]);
  });

  test('lint: a function that exceeds the complexity limit', async () => {
    const branches = (count: number): string =>
      `export function pick(value: number): number {\n${Array.from({ length: count }, (_, at) => `  if (value > ${at}) return ${at};\n`).join('')}  return -1;\n}\n`;
    const found = await findings(lint, { 'core/maze.ts': branches(15), 'core/path.ts': branches(14) });
    expect(found).toEqual([expect.stringMatching(/^core\/maze\.ts:1: eslint\(complexity\): .* complexity of 16/)]);
  });

  test('unused: unused files, exports and dependencies, and undeclared imports', async () => {
    const found = await findings(unused, {
      'package.json': JSON.stringify({
        name: 'parley-forum',
        type: 'module',
        exports: { '.': './core/index.ts' },
        dependencies: { pg: '8.23.0', semver: '7.8.6' },
      }),
      'core/index.ts': 'export const offered = 1;\n',
      'core/main.ts': "import 'semver';\nimport 'diff';\nimport { used } from './parts.ts';\nvoid used;\n",
      'core/parts.ts': 'export const used = 1;\nexport const idle = used;\nexport interface Idle {}\n',
      'core/forgotten.ts': 'export {};\n',
    });
    expect(found.map((line) => line.split(/; | and not/)[0])).toEqual([
      'core/forgotten.ts: is imported by nothing',
      'core/main.ts:2: diff is imported',
      'core/parts.ts:2: idle is exported and imported by nothing',
      'core/parts.ts:3: Idle is exported and imported by nothing',
      'package.json:1: pg is in package.json and imported by nothing',
    ]);
  });

  test('snippets: an example that does not compile, with its line in the document', async () => {
    const door = 'export const defineToken = <T>(id: string): { id: string; value?: T } => ({ id });\n';
    const guide =
      "# Guide\n\n```ts\n// plugins/polls/api.ts\nimport { defineToken } from 'parley-forum';\nexport const Polls = defineToken<number>(1);\n```\n\n```ts\nimport { Polls } from 'parley-forum/plugins/polls';\nPolls.id.toFixed();\n```\n";
    const found = await findings(snippets, { 'core/index.ts': door, 'docs/guide/polls.md': guide });
    expect(found).toEqual([
      expect.stringMatching(/^docs\/guide\/polls\.md:6: error TS2345/),
      expect.stringMatching(/^docs\/guide\/polls\.md:11: error TS2551/),
    ]);
  });

  test('vocabulary: an application term in the kernel, even in a name, a comment or the command line', async () => {
    const found = await findings(vocabulary, {
      'core/a.ts': 'export const replyCount = 1;\n// Called when a post is made.\n',
      'core/cli/b.ts': 'export const help = "Promotes a moderator";\n',
      'core/fine.ts': '// A POST request to config/forum.ts: method post, PostgreSQL.\n',
      'plugins/a/plugin.ts': '// Discussions, topics and replies.\n',
    });
    expect(found.map((line) => line.split(' is ')[0])).toEqual([
      'core/a.ts:1: "reply"',
      'core/a.ts:2: "a post"',
      'core/cli/b.ts:1: "moderator"',
    ]);
  });

  test('names: meaningless suffixes, leading underscores and I-prefixed interfaces', async () => {
    const found = await findings(names, {
      'core/a.ts':
        'export class UserManager {}\nexport interface IUser {}\nconst _hidden = 1;\nexport const seen = _hidden;\nexport interface Item {}\n',
      'plugins/a/utils.ts': 'export {};\n',
    });
    expect(found.map((line) => line.slice(0, line.lastIndexOf('"')))).toEqual([
      'core/a.ts:1: "UserManager',
      'core/a.ts:2: "IUser',
      'core/a.ts:3: "_hidden',
      'plugins/a/utils.ts: "utils',
    ]);
  });

  test('glossary: a replaced term in an identifier or a file name, but not within a longer word or a string', async () => {
    const found = await findings(glossary, {
      'core/a.ts': "export class MessageKeeper {\n  readonly #toldAt = 'tidy';\n}\nexport const address = 'told';\n",
      'test/tidying.test.ts': 'export {};\n',
    });
    expect(found).toEqual([
      'core/a.ts:1: "MessageKeeper": "keeper" is not a term of the glossary; use maintenance',
      'core/a.ts:2: "#toldAt": "told" is not a term of the glossary; use notify, send, publish',
      'test/tidying.test.ts: "tidying.test": "tidying" is not a term of the glossary; use cleanup',
    ]);
  });

  test('glossary: a term that is listed twice, out of order, or refers to a missing file', async () => {
    const row = (term: string, where: string): string => `| **${term}** | What it is. | \`${where}\` |\n`;
    const found = await findings(glossary, {
      'core/jobs.ts': 'export {};\n',
      'docs/glossary.md': row('job', 'core/jobs.ts') + row('Job', 'core/jobs.ts') + row('hook', 'core/hooks.ts'),
    });
    expect(found).toEqual([
      expect.stringMatching(/^docs\/glossary\.md:2: "Job" comes after "job"/),
      expect.stringMatching(/^docs\/glossary\.md:3: "hook" comes after "Job"/),
      'docs/glossary.md:3: "hook" names core/hooks.ts, which does not exist',
    ]);
  });

  test('folders: a folder with too many source files', async () => {
    const files = (folder: string, count: number): Record<string, string> =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`${folder}/file-${index}.ts`, 'export {};\n']));
    const found = await findings(folders, {
      ...files('core/jobs', 15),
      ...files('plugins/a/client', 16),
      'core/jobs/deep/file.ts': 'export {};\n',
    });
    expect(found).toEqual(['plugins/a/client: has 16 source files, more than 15; split it into folders by subject']);
  });

  test('finished: TODO comments and tests that are skipped or run exclusively', async () => {
    const found = await findings(finished, {
      'core/a.ts': 'export {}; // TODO later\n',
      'test/a.test.ts':
        "import { test } from 'vitest';\ntest.only('a', () => {});\ntest.concurrent.skip('b', () => {});\nexport const fine = ['TODO', 'test.only'];\n",
    });
    expect(found.map((line) => line.slice(0, 24))).toEqual([
      'core/a.ts:1: "TODO" in a',
      'test/a.test.ts:2: .only ',
      'test/a.test.ts:3: .skip ',
    ]);
  });

  test('bound types: values and lists of a custom type, and lists without a type', async () => {
    const found = await findings(boundTypes, {
      'plugins/a/service.ts': [
        "import { sql } from 'parley-forum';",
        'export const one = (name: string) => sql`select 1 where ${name}::citext = x`;',
        'export const many = (names: string[]) => sql`select 1 where x = any(${names.map((name) => name)}::citext[])`;',
        'export const bare = (ids: string[]) => sql`select 1 where id = any(${ids})`;',
        'export const fine = (names: string[], ids: string[]) => sql`select 1 where x = any(${names}::text[]::citext[]) and id = any(${ids}::uuid[])`;',
      ].join('\n'),
    });
    expect(found.map((line) => line.split(';')[0])).toEqual([
      'plugins/a/service.ts:2: binds citext, which is not built in',
      'plugins/a/service.ts:3: binds citext, which is not built in',
      'plugins/a/service.ts:4: binds a list without its type',
    ]);
  });

  test('plugin folders: a mismatched id, no version, no README, no tests, a name that is not kebab-case', async () => {
    const found = await findings(plugins, {
      'plugins/polls/plugin.ts': "export default definePlugin({ id: 'poll', version: '1.0.0' });\n",
      'plugins/Loud/plugin.ts': "export default definePlugin({ id: 'Loud' });\n",
      'plugins/Loud/README.md': '# Loud\n',
      'test/plugins/Loud/loud.test.ts': 'export {};\n',
    });
    expect(found).toEqual([
      expect.stringMatching(/^plugins\/Loud: .*kebab-case/),
      expect.stringMatching(/^plugins\/Loud\/plugin\.ts: has no literal version/),
      expect.stringMatching(/^plugins\/polls\/plugin\.ts: has the id "poll"/),
      expect.stringMatching(/^plugins\/polls: has no README/),
      expect.stringMatching(/^test\/plugins\/polls: has no \*\.test\.ts/),
    ]);
  });

  test('plugin folders: a contract that exposes untyped SQL or a plugin handle', async () => {
    const found = await findings(plugins, {
      'plugins/ports/polls.ts': [
        'export interface Polls {',
        '  open(viewer: Viewer): RawBuilder<unknown>;',
        '  closed(viewer: Viewer): RawBuilder<{ readonly poll_id: string }>;',
        '  readonly plugin: PluginHandle;',
        '}',
      ].join('\n'),
    });
    expect(found.map((line) => line.split(';')[0])).toEqual([
      'plugins/ports/polls.ts:2: has SQL with untyped rows in its contract',
      "plugins/ports/polls.ts:4: has a plugin's handle in its contract",
    ]);
  });

  const slot = (name: string, id: string, text = 'Below the boats.'): string =>
    `export const ${name} = defineSlot<object>('${id}', '${text}');\n`;

  test('slots: an undeclared slot in a template, even as an argument, and a computed slot id', async () => {
    const found = await findings(slots, {
      'plugins/boats/api.ts': slot('listEnd', 'boats.end') + slot('headActions', 'boats.actions'),
      'plugins/boats/views/list.hbs':
        '{{> partials/page-head title="Boats" slot="boats.actions"}}\n{{slot "boats.end"}}\n{{slot "boats.edn" this}}\n',
      'themes/harbour/templates/partials/page-head.hbs':
        '{{#if slot}}{{slot slot context}}{{/if}}\n{{#slot @page.rail}}{{/slot}}\n',
      'themes/harbour/templates/plugins/boats/list.hbs': '{{> partials/page-head slot="boats.action"}}\n',
    });
    expect(found).toEqual([
      'plugins/boats/views/list.hbs:3: has the slot "boats.edn", which no api.ts declares; export it there with defineSlot',
      'themes/harbour/templates/partials/page-head.hbs:2: computes the id of a slot; use a literal',
      expect.stringMatching(/^themes\/harbour\/templates\/plugins\/boats\/list\.hbs:1: has the slot "boats\.action"/),
    ]);
  });

  test('slots: one that no template uses, has no description, is declared twice, or outside a contract', async () => {
    const found = await findings(slots, {
      'plugins/boats/api.ts': slot('listEnd', 'boats.end', '') + slot('listFoot', 'boats.foot'),
      'plugins/boats/views/list.hbs': '{{slot "boats.end"}}\n',
      'plugins/oars/api.ts': slot('boatsEnd', 'boats.end'),
      'plugins/oars/pages.ts': slot('ownEnd', 'boats.end'),
    });
    expect(found).toEqual([
      'plugins/boats/api.ts:1: does not say where the slot "boats.end" is; describe it in a sentence',
      'plugins/boats/api.ts:2: declares the slot "boats.foot", which is in no template',
      'plugins/oars/api.ts:1: declares the slot "boats.end" again, after plugins/boats/api.ts:1',
      'plugins/oars/pages.ts:1: defines a slot itself; import it from the contract that exports it',
    ]);
  });

  test('documented: undocumented parts of the interface for plugin authors', async () => {
    const found = await findings(documented, {
      'core/hooks.ts':
        'export interface ListenOptions {\n  readonly order?: number;\n}\nexport interface Durability {}\nexport interface Delivery {}\n',
      'plugins/boats/api.ts': [
        "export const sunk = defineAction<{ id: string }>('boat.sunk');",
        '/** A boat is about to leave. */',
        "export const leaving = defineFilter<string>('boat.leaving');",
        "export const flags = defineExtensionPoint<string>('boats.flags', '');",
        'export interface Boats {}',
        "export const Boats = defineToken<Boats>('Boats');",
        '/** The boats that lie here. */',
        'export interface Harbour {}',
        "export const Harbour = defineToken<Harbour>('Harbour');",
      ].join('\n'),
      'plugins/boats/client/x-boat.ts': [
        'class Boat extends HTMLElement {',
        "  connectedCallback(): void { this.dispatchEvent(new CustomEvent('boats:moored')); }",
        '}',
        "define('x-boat', Boat);",
      ].join('\n'),
      'plugins/boats/views/list.hbs': '{{! boats [{name}]. }}\n{{#each boats}}{{name}}{{/each}}\n',
      'plugins/boats/views/boat.hbs': '{{! One boat: name. }}\n{{name}}\n',
      'plugins/web/client/client.ts': 'export const mast = (): number => 1;\nconst hidden = 1;\nvoid hidden;\n',
      'plugins/web/templates/helpers.ts':
        'export function createHelpers() {\n  return {\n    /** `knots speed`: the speed of a boat. */\n    knots: () => 1,\n    sail: () => 2,\n  };\n}\n',
    });
    expect(found.map((line) => line.replace(/ has no sentence.*/, ''))).toEqual([
      'plugins/boats/api.ts:1: the action "boat.sunk"',
      'plugins/boats/api.ts:4: the extension point "boats.flags"',
      'plugins/boats/api.ts:6: the service "Boats"',
      'core/hooks.ts:2: the member of ListenOptions "order"',
      'plugins/boats/views/list.hbs:1: the template "@boats/list"',
      'plugins/web/templates/helpers.ts:5: the helper "sail"',
      'plugins/web/client/client.ts:1: the export of @forum/client "mast"',
      'plugins/boats/client/x-boat.ts:4: the element "x-boat"',
      'plugins/boats/client/x-boat.ts:2: the browser event "boats:moored"',
    ]);
  });

  describe('public interface', () => {
    const module = (name: string, version: string, ...lines: readonly string[]): string =>
      `## ${name} ${version}\n\n\`\`\`text\n${lines.join('\n')}\n\`\`\`\n\n`;
    const boats = 'parley-forum/plugins/boats';
    const released = (version: string): string =>
      module('parley-forum', version, 'open: function <T>(id: string): T', 'Mast: interface', '  height: number') +
      module(
        boats,
        '1.0.0',
        'Boat: interface',
        '  name: string',
        'Boats: interface & const Token<Boats>',
        '  find(id: string): Boat',
        'hoist: function (flag: string): void',
        '@deprecated sink: function (): void',
      );
    const compared = (before: string, now: string, changelog = '') =>
      findings(publicInterface, {
        'config/tools/api/released.md': before,
        'docs/reference/api-report.md': now,
        'CHANGELOG.md': `# Changelog\n\n${changelog}`,
      });

    test('reports removals, changes and new requirements without a version bump and a changelog entry', async () => {
      const now =
        module('parley-forum', '0.1.0', 'open: function <T>(id: string): T', 'Mast: interface', '  height: string') +
        module(
          boats,
          '1.0.0',
          'Boat: interface',
          '  crew: number',
          '  name: string',
          'Boats: interface & const Token<Boats>',
          '  find(id: string): Boat',
        );
      expect(await compared(released('0.1.0'), now)).toEqual([
        'package.json: parley-forum 0.1.0 is incompatible with 0.1.0; its version must be at least 0.2.0',
        'plugins/boats/plugin.ts: parley-forum/plugins/boats 1.0.0 is incompatible with 1.0.0; its version must be at least 2.0.0',
        expect.stringMatching(
          /^parley-forum: changes Mast \{ height: number \} to "height: string"; name `Mast` in CHANGELOG/,
        ),
        expect.stringMatching(/boats: removes hoist; name `hoist` in CHANGELOG\.md under ## 0\.1\.0/),
        expect.stringMatching(/boats: removes sink; name `sink`/),
        expect.stringMatching(/boats: requires Boat \{ crew: number \}; name `Boat`/),
      ]);
    });

    test('accepts breaking changes with raised versions, named in the changelog under the new version', async () => {
      const now =
        module('parley-forum', '0.2.0', 'open: function <T>(id: string): T') +
        module(boats, '2.0.0', 'Boat: interface', '  name: string');
      const before = released('0.1.0');
      const named = '- `Mast`, `Boats`, `hoist` and `sink` are gone.\n';
      expect(await compared(before, now, `## 0.2.0 (not released yet)\n\n${named}\n## 0.1.0\n`)).toEqual([]);
      expect(await compared(before, now, `## 0.2.0\n\n## 0.1.0\n\n${named}`)).toHaveLength(4);
    });

    test('accepts compatible additions', async () => {
      const now =
        module(
          'parley-forum',
          '0.1.0',
          'open: function <T>(id: string, wide?: boolean): T',
          'Mast: interface',
          '  height: number',
          '  sails?: number',
          'close: function (): void',
        ) +
        module(
          boats,
          '1.0.0',
          'Boat: interface',
          '  name: string',
          'Boats: interface & const Token<Boats>',
          '  count(): number',
          '  find(id: string): Boat',
          'hoist: function (flag: string): void',
          '@deprecated sink: function (): void',
        );
      expect(await compared(released('0.1.0'), now)).toEqual([]);
    });

    test('from 1.0 on, reports removals that the previous release did not mark as deprecated', async () => {
      const now =
        module('parley-forum', '2.0.0', 'open: function <T>(id: string): T', 'Mast: interface', '  height: number') +
        module(
          boats,
          '2.0.0',
          'Boat: interface',
          '  name: string',
          'Boats: interface & const Token<Boats>',
          '  find(id: string): Boat',
        );
      expect(await compared(released('1.4.0'), now, '## 2.0.0\n\n`hoist` and `sink` are gone.\n')).toEqual([
        'parley-forum/plugins/boats: removes hoist, which the last release did not mark @deprecated; mark it first',
      ]);
    });

    test('covers the exports of the modules and the types behind them, and survives a round trip', () => {
      const files: Readonly<Record<string, string>> = {
        'core/index': "export { type Mast, raise, Rig } from './mast.ts';\nexport type Knots = number;\n",
        'core/mast': [
          "import type { Sail } from './sail.ts';",
          '/** Stands. */\nexport interface Mast {\n  readonly height: number;\n  /** @deprecated use none */\n  sails(): readonly Sail[];\n}',
          'export declare const raise: (mast: Mast) => void;',
          'export declare class Rig {\n  #private;\n  private bent;\n  constructor(mast: Mast);\n  get ropes(): number;\n}',
          'interface Unseen {}',
        ].join('\n'),
        'core/sail':
          'export interface Sail extends Cloth {\n  readonly area: number;\n}\ninterface Cloth {}\ninterface Other {}\n',
      };
      const surface = surfaceOf(
        new Map([['parley-forum', { file: 'core/index', version: '1.2.3' }]]),
        (file) => files[file],
      );
      const report = writeReport(surface);
      expect(report.split('\n')).toEqual([
        '## parley-forum 1.2.3',
        '',
        '```text',
        'Knots: type = number',
        'Mast: interface',
        '  height: number',
        '  @deprecated sails(): readonly Sail[]',
        'Rig: class',
        '  constructor(mast: Mast)',
        '  get ropes(): number',
        'raise: const (mast: Mast) => void',
        '```',
        '',
        '## (not exported)',
        '',
        '```text',
        'core/sail#Cloth: interface',
        'core/sail#Sail: interface extends Cloth',
        '  area: number',
        '```',
      ]);
      expect(readReport(report)).toEqual(surface);
    });
  });

  test('exports: a name that no plugin imports, one without a description, and too many of them', async () => {
    const hulls = Array.from({ length: 70 }, (_, at) => `hull${at}`);
    const files = {
      'core/index.ts': "export { defineBoat, type Boat, type Sail, type Oar } from './boat.ts';\n",
      'core/boat.ts': [
        '/** A boat. */\nexport interface Boat {}',
        '/** Moves it. */\nexport interface Sail {}',
        '/** Moves it too. */\nexport interface Oar {}',
        'export const defineBoat = (sail: Sail): Boat => sail;',
      ].join('\n'),
      'plugins/harbour/plugin.ts': "import { defineBoat, type Oar as Blade } from 'parley-forum';\n",
      'test/core/boats.test.ts': "import type { Sail } from 'parley-forum';\n",
    };
    expect(await findings(exported, files)).toEqual([
      'core/index.ts:1: defineBoat has no sentence; write it as a comment where it is defined',
      'core/index.ts:1: no plugin, example or test kit imports Sail; do not export it',
    ]);
    const found = await findings(exported, {
      'core/index.ts': `export { ${hulls.join(', ')}, mast } from './boat.ts';\n`,
      'core/boat.ts': `${hulls.map((name) => `/** A hull. */\nexport const ${name} = 1;\n`).join('')}/** A mast. */\nexport const mast = 1;\n`,
      'plugins/harbour/plugin.ts': `import { ${hulls.join(', ')}, mast } from 'parley-forum';\n`,
    });
    expect(found).toEqual(['core/index.ts: exports 71 values, more than 70; remove some']);
  });

  test('generated reference: a document that is out of date, missing, or not generated', async () => {
    const generate = () =>
      Promise.resolve(
        new Map([
          ['docs/reference/hooks.md', 'new'],
          ['docs/reference/routes.md', 'new'],
          ['docs/reference/settings.md', 'same'],
        ]),
      );
    const found = await findings(reference(generate), {
      'docs/reference/hooks.md': 'old',
      'docs/reference/settings.md': 'same',
      'docs/reference/own.md': 'mine',
    });
    expect(found).toEqual([
      expect.stringContaining('hooks.md: is out of date'),
      expect.stringContaining('own.md: is not generated'),
      expect.stringContaining('routes.md: is missing'),
    ]);
  });

  test('generated reference: an environment variable without a description', () => {
    using tree = plant({
      'config/environment.ts': "declare function text(name: string): string;\nexport const shiny = text('SHINY');\n",
      'core/host/site.ts': '',
      'core/cli/cli.ts': "export const dull = process.env['DULL'];\n",
    });
    expect(() => environmentRows(tree.root)).toThrow('reads SHINY, DULL; describe it');
  });
});

describe('boundaries', () => {
  /** The modules that .dependency-cruiser.mjs imports. */
  const support = {
    'config/tools/checks/support/platform.ts': `export const PLATFORM = ${JSON.stringify(PLATFORM)};\n`,
  };
  /** One violation of every rule, by import and by type. */
  const tree = {
    ...support,
    'core/index.ts': 'export const door = 1;\n',
    'core/hidden.ts': 'export const hidden = 1;\nexport interface Hidden {}\n',
    'core/nosy.ts': "import '../plugins/a/service.ts';\n",
    'core/one.ts': "import type { two } from './two.ts';\nexport const one: typeof two = 1;\n",
    'core/two.ts': "import { one } from './one.ts';\nexport const two = 1;\nvoid one;\n",
    'core/wild.ts':
      [
        'tsyringe',
        'reflect-metadata',
        'emittery',
        'ajv',
        'express',
        'find-my-way',
        'commander',
        'culori',
        'htmlparser2',
        'kysely',
        '@electric-sql/pglite',
        'ioredis',
        'pino',
      ]
        .map((library) => `import '${library}';\n`)
        .join('') + "import type { Client } from 'pg';\nexport type { Client };\n",
    'config/forum.ts': "import 'playwright-core';\nimport 'pg-pool';\n",
    'migrations/a/0001-create.ts': "import '../../plugins/a/service.ts';\n",
    'plugins/a/api.ts': "import './service.ts';\n",
    'plugins/a/service.ts':
      "import type { Hidden } from '../../core/hidden.ts';\nimport '../b/service.ts';\nexport type { Hidden };\n",
    'plugins/a/plugin.ts': "import '../../config/forum.ts';\n",
    'plugins/a/client/page.ts': "import '../service.ts';\n",
    'plugins/b/service.ts': 'export const b = 1;\n',
    'plugins/b/api.ts': 'export const b = 1;\n',
    'plugins/web/service.ts': "import '../b/api.ts';\n",
    'plugins/ports/agreement.ts': "import '../b/api.ts';\n",
  };

  test('every rule is violated once by a tree made for it, and reported', async () => {
    const { default: configuration } = (await import(new URL('../.dependency-cruiser.mjs', import.meta.url).href)) as {
      default: { forbidden: ReadonlyArray<{ name: string }> };
    };
    const found = await findings(boundaries(1), tree);
    const broken = found.map((line) => /: ([a-z-]+)(?::|$)/.exec(line)?.[1] ?? line);
    expect([...new Set(broken)].sort()).toEqual(configuration.forbidden.map(({ name }) => name).sort());
  });

  test('a plugin imports values only from plugins whose services it needs, but types and ports from any', async () => {
    const found = await findings(dependents, {
      'plugins/feeds/plugin.ts':
        "import { Posts, postSaved } from 'parley-forum/plugins/posts';\nimport { Polls } from 'parley-forum/plugins/polls';\nimport type { Poll } from 'parley-forum/plugins/votes';\nimport { pages } from 'parley-forum/plugins/web';\nimport { mailed } from 'parley-forum/ports/mail';\ndefinePlugin({ needs: { posts: Posts }, wants: { polls: Polls }, setup: () => void [postSaved, pages, mailed] as unknown as Poll });\n",
    });
    expect(found).toEqual([expect.stringMatching(/plugins\/feeds\/plugin\.ts: imports Polls of "polls".*ports/)]);
  });

  test('a tree that could not be read does not pass as clean', async () => {
    expect(await findings(boundaries(), { ...support, 'core/index.ts': 'export const door = 1;\n' })).toEqual([
      expect.stringContaining('saw 2 modules, fewer than 21'),
    ]);
  });
});
