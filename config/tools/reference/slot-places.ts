import Handlebars from 'handlebars';
import { readFiles, type SourceFile } from '../checks/support/files.ts';

/** A slot in a template. */
export interface SlotPlace {
  /** Undefined if the template computes it. */
  readonly id: string | undefined;
  /** Path of the template. */
  readonly path: string;
  readonly line: number;
}

/** All places of slots in the templates of plugins and themes, in order. */
export const slotPlaces = (root: string): readonly SlotPlace[] =>
  readFiles(root, ['plugins', 'themes'], /^(plugins\/[^/]+\/views|themes\/[^/]+\/templates)\/.*\.hbs$/).flatMap(
    placesIn,
  );

function placesIn({ path, text }: SourceFile): readonly SlotPlace[] {
  const found: SlotPlace[] = [];
  const add = (name: hbs.AST.Node | undefined): void => {
    if (!name) return;
    const id = name.type === 'StringLiteral' ? (name as hbs.AST.StringLiteral).value : undefined;
    found.push({ id, path, line: name.loc.start.line });
  };
  const visitor = new Handlebars.Visitor();
  const [mustache, block, partial] = [visitor.MustacheStatement, visitor.BlockStatement, visitor.PartialStatement];
  const called = ({ path: name, params }: hbs.AST.MustacheStatement | hbs.AST.BlockStatement): void => {
    const [first] = params;
    // `slot` as a variable is the argument of a partial; the slot is found where the partial is used.
    const handed = first?.type === 'PathExpression' && (first as hbs.AST.PathExpression).original === 'slot';
    if ((name as hbs.AST.PathExpression).original === 'slot' && !handed) add(first);
  };
  visitor.MustacheStatement = function (node) {
    called(node);
    mustache.call(this, node);
  };
  visitor.BlockStatement = function (node) {
    called(node);
    block.call(this, node);
  };
  visitor.PartialStatement = function (node) {
    add(node.hash?.pairs.find(({ key }) => key === 'slot')?.value);
    partial.call(this, node);
  };
  visitor.accept(Handlebars.parse(text));
  return found;
}
