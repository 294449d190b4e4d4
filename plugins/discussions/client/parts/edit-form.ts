import { fragment } from '@forum/client';

/** What names another element of its page by its id, or several. */
const NAMING = ['for', 'list', 'popovertarget', 'aria-controls', 'aria-describedby', 'aria-labelledby'];
let count = 0;

/** The form that edits a post, for a page that has other forms, and its title. Rejects where it cannot be had. */
export async function editForm(path: string): Promise<{ readonly form: HTMLFormElement; readonly title: string }> {
  const page = await fragment(path);
  const form = page.querySelector<HTMLFormElement>(`form[action="${path}"]`);
  if (!form) throw new Error('This is another page');
  // Once it is sent one goes on reading here.
  form.dataset['enhance'] = 'stay';
  const end = `-${++count}`;
  for (const element of form.querySelectorAll('[id]')) element.id += end;
  for (const name of NAMING)
    for (const element of form.querySelectorAll(`[${name}]`))
      element.setAttribute(name, element.getAttribute(name)!.trim().replace(/\S+/g, `$&${end}`));
  return { form, title: page.querySelector('h1')?.textContent ?? '' };
}

/** Whether something else is written in a form than the server sent. */
export const isChanged = (form: HTMLFormElement): boolean =>
  [...form.querySelectorAll<HTMLTextAreaElement | HTMLInputElement>('textarea, input')].some(
    ({ value, defaultValue }) => value !== defaultValue,
  );
