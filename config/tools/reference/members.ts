import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { nodesOf, parseSource, placeOf } from '../checks/support/source.ts';
import { wholeCommentOf } from './described.ts';

/** An entry that authors look up by name. */
export interface Documented {
  readonly name: string;
  /** As declared, on one line. */
  readonly signature: string;
  /** Its comment; empty if there is none. */
  readonly text: string;
  /** `path:line`. */
  readonly place: string;
}

/** Types of the kernel and the test kit whose members plugins implement or call, with the file that declares them. */
export const PLUGIN_INTERFACES: ReadonlyArray<readonly [path: string, name: string]> = [
  ['core/plugins/definition.ts', 'PluginDefinition'],
  ['core/plugins/definition.ts', 'PluginHandle'],
  ['core/hooks.ts', 'ListenOptions'],
  ['core/hooks.ts', 'Durability'],
  ['core/hooks.ts', 'Delivery'],
  ['core/plugins/definition.ts', 'JobDefinition'],
  ['core/plugins/definition.ts', 'JobDelivery'],
  ['core/plugins/definition.ts', 'Job'],
  ['core/http/routes.ts', 'RouteDefinition'],
  ['core/http/routes.ts', 'Call'],
  ['core/http/routes.ts', 'Exchange'],
  ['core/http/routes.ts', 'SurfaceBehaviour'],
  ['test/kit/index.ts', 'TestForum'],
  ['test/kit/index.ts', 'TestForumOptions'],
  ['test/kit/client.ts', 'Client'],
];

/** The members of an interface, or of the object literal in a type alias, in order. */
export function membersOf(root: string, path: string, name: string): readonly Documented[] {
  const source = parseSource({ path, text: readFileSync(join(root, path), 'utf8') });
  const declared = source.statements
    .filter((one) => ts.isInterfaceDeclaration(one) || ts.isTypeAliasDeclaration(one))
    .find((one) => one.name.text === name);
  const found =
    declared && ts.isTypeAliasDeclaration(declared) ? [...nodesOf(declared)].find(ts.isTypeLiteralNode) : declared;
  if (!found) throw new Error(`${path} declares no type "${name}" with members; see config/tools/reference/members.ts`);
  return found.members.map((member) => ({
    name: member.name?.getText() ?? '',
    signature: onOneLine(member),
    text: wholeCommentOf(member),
    place: placeOf(source, member.getStart()),
  }));
}

/** A declaration on one line, without its comments. */
export const onOneLine = (node: ts.Node): string =>
  node
    .getText()
    .replaceAll(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*/g, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/(?<=[(<]) |,? (?=[)>](?!=))/g, '')
    .replace(/^readonly /, '')
    .replace(/;$/, '');
