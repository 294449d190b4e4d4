import { defineToken } from 'parley-forum';

/** Which categories ask for answers, for programs that make categories; administrators say it in the category's form. */
export interface Answers {
  ask(categoryId: string, asks: boolean): Promise<void>;
}
export const Answers = defineToken<Answers>('Answers');
