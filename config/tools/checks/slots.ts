import ts from 'typescript';
import { contractRefs } from '../reference/described.ts';
import { slotPlaces } from '../reference/slot-places.ts';
import type { Check } from './support/check.ts';
import { readFiles } from './support/files.ts';
import { nodesOf, parseSource, placeOf } from './support/source.ts';

/**
 * Each slot in a template must be a value exported by a contract, and each such value must be used in a template:
 * plugins that fill a slot import it, so that a misspelled one does not compile.
 */
export const slots: Check = {
  name: 'slots',
  async run(root) {
    const places = slotPlaces(root);
    const declared = contractRefs(root).filter(({ kind }) => kind === 'Slot');
    const byId = Map.groupBy(declared, ({ id }) => id);
    const used = new Set(places.map(({ id }) => id));
    return [
      ...places.flatMap(({ id, path, line }) => {
        if (id === undefined) return [`${path}:${line}: computes the id of a slot; use a literal`];
        if (byId.has(id)) return [];
        return [`${path}:${line}: has the slot "${id}", which no api.ts declares; export it there with defineSlot`];
      }),
      ...declared.flatMap(({ id, place, text }) => [
        ...(used.has(id) ? [] : [`${place}: declares the slot "${id}", which is in no template`]),
        ...(text === '' ? [`${place}: does not say where the slot "${id}" is; describe it in a sentence`] : []),
      ]),
      ...[...byId.values()]
        .filter(({ length }) => length > 1)
        .map((all) => `${all[1]!.place}: declares the slot "${all[0]!.id}" again, after ${all[0]!.place}`),
      ...undeclared(root),
    ];
  },
};

/** Slots that are defined in the plugin that fills them, outside of any contract. */
function undeclared(root: string): readonly string[] {
  const files = readFiles(root, ['plugins'], /^plugins\/[^/]+\/(?!api\.ts$|client\/).*\.ts$/);
  return files
    .filter(({ text }) => text.includes('defineSlot'))
    .flatMap((file) => {
      const source = parseSource(file);
      return [...nodesOf(source)]
        .filter(ts.isCallExpression)
        .filter(({ expression }) => expression.getText() === 'defineSlot')
        .map(
          (call) =>
            `${placeOf(source, call.getStart())}: defines a slot itself; import it from the contract that exports it`,
        );
    });
}
