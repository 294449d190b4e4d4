import { define, loadElement, type ComposerTool } from '@forum/client';

/** The toolbar button that chooses files for the text of a writing field. */
class ChooseFiles extends HTMLElement implements ComposerTool {
  async use({ form }: HTMLTextAreaElement): Promise<void> {
    await loadElement('x-upload');
    form?.querySelector<HTMLInputElement>('x-upload input[type="file"]')?.click();
  }
}
define('x-choose-files', ChooseFiles);
