import { define, fragment, type PageForm } from '@forum/client';

/** Attributes that refer to other elements of the page by id. */
const NAMING = ['for', 'list', 'popovertarget', 'aria-controls', 'aria-describedby', 'aria-labelledby'];
let count = 0;

/** The form of another page, on a page that has other forms. */
class FormOfPage extends HTMLElement implements PageForm {
  async bring(path: string): Promise<string> {
    const page = await fragment(path);
    const form = page.querySelector<HTMLFormElement>(`form[action="${path}"]`);
    if (!form) throw new Error('This is another page');
    // After submitting, the reader stays on this page.
    form.dataset['enhance'] = 'stay';
    const end = `-${++count}`;
    for (const element of form.querySelectorAll('[id]')) element.id += end;
    for (const name of NAMING)
      for (const element of form.querySelectorAll(`[${name}]`))
        element.setAttribute(name, element.getAttribute(name)!.trim().replace(/\S+/g, `$&${end}`));
    this.replaceChildren(form);
    return page.querySelector('h1')?.textContent ?? '';
  }

  get isChanged(): boolean {
    return [...this.querySelectorAll<HTMLTextAreaElement | HTMLInputElement>('textarea, input')].some(
      ({ value, defaultValue }) => value !== defaultValue,
    );
  }
}
define('x-form', FormOfPage);
