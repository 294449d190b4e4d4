import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files that take longest, most of it waiting for processes, leases or a browser. Begun last, the run would end with
 * one worker at work; begun together with the others of their project, browsers would wait for each other.
 */
const LONGEST = [
  'package/package',
  'plugins/webhooks/crash',
  'browser/pages',
  'core/faults',
  'browser/journeys',
  'browser/composing',
  'plugins/webhooks/delivery',
  'browser/states',
  'plugin-new',
].map((name) => `/test/${name}.test.ts`);

/** The longest files first, in that order; the others as vitest orders them: project by project, larger files first. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const at = LONGEST.findIndex((file) => moduleId.endsWith(file));
      return at === -1 ? LONGEST.length : at;
    };
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b));
  }
}
