import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The slowest test files, which mostly wait for processes, leases or a browser. If they started last, the run would end
 * with a single busy worker; if they started along with the rest of their project, browsers would wait for each other.
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

/**
 * Runs the slowest files first, in that order, and the others in vitest's order: project by project, larger files
 * first.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const at = LONGEST.findIndex((file) => moduleId.endsWith(file));
      return at === -1 ? LONGEST.length : at;
    };
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b));
  }
}
