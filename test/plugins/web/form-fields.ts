import { DomUtils, parseDocument } from 'htmlparser2';

const { getElements, findOne, getAttributeValue: attribute, hasAttrib, textContent } = DomUtils;

/** What a browser sends for the form with this action: ticked checkboxes, and the last of fields with the same name. */
export const formFields = (html: string, action: string): Record<string, string> =>
  Object.fromEntries(formPairs(html, action));

/** What was done to a form: left as it was, chosen differently everywhere, or all checkboxes ticked or none. */
export type Chosen = 'as opened' | 'otherwise' | 'all' | 'none';

/** The same, with all fields of the same name. */
export function formPairs(
  html: string,
  action: string,
  how: Chosen = 'as opened',
): readonly [name: string, value: string][] {
  const form = findOne(
    ({ name, attribs }) => name === 'form' && attribs['action'] === action,
    parseDocument(html).children,
  );
  if (!form) throw new Error(`There is no form with the action ${action}`);
  const fields = getElements({ name: () => true }, form.children, true).flatMap((node) =>
    'attribs' in node ? [node] : [],
  );
  return fields.flatMap((field): [string, string][] => {
    const name = attribute(field, 'name') ?? '';
    const value = attribute(field, 'value') ?? '';
    const type = attribute(field, 'type');
    if (field.name === 'textarea') return [[name, textContent(field).replace(/^\n/, '')]];
    if (field.name === 'select') {
      const options = fields.filter((option) => option.name === 'option' && option.parent === field);
      // Browsers send the first option if none is selected.
      const chosen = pick(options, 'selected', how) ?? options[0];
      return [[name, (chosen && attribute(chosen, 'value')) ?? '']];
    }
    if (field.name !== 'input' || type === 'file' || (type === 'checkbox' && !isTicked(field, how))) return [];
    const group = fields.filter((one) => attribute(one, 'type') === 'radio' && attribute(one, 'name') === name);
    return type === 'radio' && field !== pick(group, 'checked', how) ? [] : [[name, value]];
  });
}

type Field = Parameters<typeof attribute>[0];

function isTicked(box: Field, how: Chosen): boolean {
  const opened = hasAttrib(box, 'checked');
  return { 'as opened': opened, otherwise: !opened, all: true, none: false }[how];
}

/** The selected one of a group, or the next one. */
function pick<T extends Field>(all: readonly T[], mark: string, how: Chosen): T | undefined {
  const at = all.findIndex((one) => hasAttrib(one, mark));
  return all[how === 'otherwise' ? (Math.max(0, at) + 1) % all.length : at];
}
