/** Yoga plugin: our own limits and validation rules instead of the defaults. */
import { type DocumentNode, type GraphQLSchema, parse } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { MAX_TOKENS } from './document-limits.ts';
import { validateDocument } from './validation-rules.ts';

export function useDocumentRules(): Plugin {
  return {
    onParse({ setParseFn }) {
      setParseFn((source: string) => parse(source, { maxTokens: MAX_TOKENS }));
    },
    onValidate({ setValidationFn }) {
      setValidationFn((schema: GraphQLSchema, document: DocumentNode) => validateDocument(schema, document));
    },
  };
}
