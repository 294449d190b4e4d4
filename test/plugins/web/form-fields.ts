import { DomUtils, parseDocument } from 'htmlparser2';

const { getElements, findOne, getAttributeValue: attribute, hasAttrib, textContent } = DomUtils;

/** What a browser sends of the form with this action: of boxes those that are ticked, of several the last. */
export const formFields = (html: string, action: string): Record<string, string> =>
  Object.fromEntries(formPairs(html, action));

/** The same with all of several. */
export function formPairs(html: string, action: string): readonly [name: string, value: string][] {
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
    if (field.name === 'textarea') return [[name, textContent(field).replace(/^\n/, '')]];
    if (field.name === 'select') {
      const chosen = findOne((option) => option.name === 'option' && hasAttrib(option, 'selected'), field.children);
      return [[name, (chosen && attribute(chosen, 'value')) ?? '']];
    }
    const box = ['checkbox', 'radio'].includes(attribute(field, 'type') ?? '');
    return field.name !== 'input' || (box && !hasAttrib(field, 'checked'))
      ? []
      : [[name, attribute(field, 'value') ?? '']];
  });
}
