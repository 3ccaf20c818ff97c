"""Run with the harness's Python: saves a random Llama of 38,000 parameters with a tokenizer of its own. usage: tiny_model.py FOLDER"""

import sys

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

folder = sys.argv[1]
letters = Tokenizer(models.BPE())
letters.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
letters.decoder = decoders.ByteLevel()
alphabet = pre_tokenizers.ByteLevel.alphabet()
trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=["<s>", "</s>"], initial_alphabet=alphabet, show_progress=False)
letters.train_from_iterator(["two plus two is four"], trainer)
tokenizer = PreTrainedTokenizerFast(tokenizer_object=letters, bos_token="<s>", eos_token="</s>", pad_token="</s>")
tokenizer.save_pretrained(folder)
torch.manual_seed(0)
size = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2}
ends = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), max_position_embeddings=512, **size, **ends)).save_pretrained(folder)
