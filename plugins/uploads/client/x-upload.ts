import { announce, csrf, define, escapeMarkdown, t } from '@forum/client';

interface Sent {
  readonly name: string;
  readonly url: string;
  readonly type: string;
}

/**
 * Adds files to the text of its form: chosen, pasted or dropped. Until one is there, a line in the text holds its
 * place.
 */
class Upload extends HTMLElement {
  #area!: HTMLTextAreaElement;
  #input!: HTMLInputElement;
  readonly #under = new Set<XMLHttpRequest>();
  readonly #paste = (event: ClipboardEvent): void => this.#take(event, event.clipboardData);
  readonly #drop = (event: DragEvent): void => this.#take(event, event.dataTransfer);
  readonly #over = (event: DragEvent): void => {
    if (event.dataTransfer?.types.includes('Files')) event.preventDefault();
  };

  connectedCallback(): void {
    const area = this.closest('form')?.querySelector('textarea');
    if (!area || this.querySelector('button')) return;
    this.#area = area;
    this.replaceChildren(this.#bar());
    area.addEventListener('paste', this.#paste);
    area.addEventListener('dragover', this.#over);
    area.addEventListener('drop', this.#drop);
  }

  disconnectedCallback(): void {
    for (const request of this.#under) request.abort();
    this.#area?.removeEventListener('paste', this.#paste);
    this.#area?.removeEventListener('dragover', this.#over);
    this.#area?.removeEventListener('drop', this.#drop);
  }

  #text(key: string, name = ''): string {
    return (this.dataset[key] ?? '').replace('{name}', () => name);
  }

  #bar(): HTMLElement {
    this.#input = document.createElement('input');
    Object.assign(this.#input, { type: 'file', multiple: true, accept: this.#text('accept'), hidden: true });
    this.#input.addEventListener('change', () => {
      this.#add([...(this.#input.files ?? [])]);
      this.#input.value = '';
    });
    const choose = buttonOf(this.#text('add'), () => this.#input.click());
    const help = document.createElement('span');
    help.className = 'help';
    help.textContent = this.#text('choose');
    const bar = document.createElement('p');
    bar.className = 'row';
    bar.append(choose, help, this.#input);
    return bar;
  }

  #take(event: Event, data: DataTransfer | null): void {
    const files = [...(data?.files ?? [])];
    // A table copied from a document comes as text and as a picture of it.
    if (files.length === 0 || (event.type === 'paste' && data?.types.includes('text/plain'))) return;
    event.preventDefault();
    this.#add(files);
  }

  #add(files: readonly File[]): void {
    for (const file of files) {
      if (file.size > Number(this.dataset['most'])) this.#line(this.#text('large', file.name));
      else this.#send(file);
    }
  }

  #send(file: File): void {
    const place = this.#hold(file.name);
    const line = this.#line(this.#text('busy', file.name), false);
    const progress = document.createElement('progress');
    progress.max = 1;
    progress.setAttribute('aria-label', line.textContent ?? '');
    const request = new XMLHttpRequest();
    line.append(
      ' ',
      progress,
      ' ',
      buttonOf(this.#text('cancel'), () => request.abort()),
    );
    request.upload.addEventListener(
      'progress',
      ({ loaded, total, lengthComputable }) => lengthComputable && (progress.value = loaded / total),
    );
    request.addEventListener('loadend', () => {
      this.#under.delete(request);
      line.remove();
      const { upload, error } = answerOf(request);
      this.#replace(place, upload ? markdownOf(upload) : '');
      if (upload) announce(this.#text('done', file.name));
      else if (request.readyState === XMLHttpRequest.DONE)
        this.#line(`${this.#text('failed', file.name)} ${error ?? t('offline')}`);
    });
    const body = new FormData();
    body.append('file', file);
    request.open('POST', '/api/uploads');
    request.setRequestHeader('X-CSRF-Token', csrf());
    this.#under.add(request);
    request.send(body);
  }

  /** Puts a line where the caret is; names in it are told apart by invisible signs nobody types. */
  #hold(name: string): string {
    const place = `![${this.#text('busy', name.replace(/[[\]()\\]/g, ''))}…](#${crypto.randomUUID().slice(0, 8)})`;
    const { selectionStart: at, value } = this.#area;
    const before = at === 0 || value[at - 1] === '\n' ? '' : '\n';
    this.#area.setRangeText(`${before}${place}\n`, at, this.#area.selectionEnd, 'end');
    this.#changed();
    return place;
  }

  /** Where the writer has deleted the line meanwhile, nothing is put in its place. */
  #replace(place: string, text: string): void {
    const at = this.#area.value.indexOf(place);
    if (at < 0) return;
    this.#area.setRangeText(
      text,
      at,
      at + place.length + (text === '' && this.#area.value[at + place.length] === '\n' ? 1 : 0),
      'preserve',
    );
    this.#changed();
  }

  #changed(): void {
    this.#area.dispatchEvent(new Event('input', { bubbles: true }));
  }

  #line(text: string, problem = true): HTMLElement {
    const line = document.createElement('p');
    line.className = problem ? 'problem' : 'row';
    line.textContent = text;
    for (const old of problem ? this.querySelectorAll('.problem') : []) old.remove();
    this.append(line);
    announce(text);
    return line;
  }
}

function buttonOf(label: string, run: () => void): HTMLButtonElement {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'button quiet small';
  button.textContent = label;
  button.addEventListener('click', run);
  return button;
}

function answerOf({ responseText }: XMLHttpRequest): { readonly upload?: Sent; readonly error?: string } {
  try {
    return JSON.parse(responseText) as { upload?: Sent; error?: string };
  } catch {
    return {};
  }
}

function markdownOf({ name, url, type }: Sent): string {
  const path = new URL(url).pathname;
  const label = escapeMarkdown(name);
  return type.startsWith('image/') ? `![${label.replace(/\.\w+$/, '')}](${path})` : `[${label}](${path})`;
}
define('x-upload', Upload);
