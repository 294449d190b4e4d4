import { define, loadElement, type ComposerTool } from '@forum/client';

/** The button of a writing field's bar that chooses files for its text. */
class ChooseFiles extends HTMLElement implements ComposerTool {
  async use({ form }: HTMLTextAreaElement): Promise<void> {
    await loadElement('x-upload');
    form?.querySelector<HTMLInputElement>('x-upload input[type="file"]')?.click();
  }
}
define('x-choose-files', ChooseFiles);
