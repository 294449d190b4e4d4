import { define, type ComposerTool } from '@forum/client';
import { Picker } from './parts/picker.ts';

let loading: Promise<Picker> | undefined;

/** One dialog for all text fields of the page, loaded when it is first opened. */
function picker(): Promise<Picker> {
  loading ??= Picker.load();
  loading.catch(() => (loading = undefined));
  return loading;
}

/** The toolbar button of a text field that opens the emoji dialog. */
class EmojiPicker extends HTMLElement implements ComposerTool {
  async use(area: HTMLTextAreaElement, event: UIEvent): Promise<void> {
    (await picker()).open(area, this.querySelector('button')!, event);
  }
}
define('x-emoji-picker', EmojiPicker);
