import numpy as np
import torch
from torch import nn

NEG = -1e9  # "minus infinity"; the real one gave me NaN in training


class LinearLayer(nn.Module):
    def __init__(self, inputSize, outputSize):
        super().__init__()
        self.inputSize = inputSize
        self.outputSize = outputSize
        self.weightMatrix = nn.Parameter(torch.zeros(outputSize, inputSize))
        self.initParams()

    def initParams(self):
        sigma = np.sqrt(2.0 / (self.inputSize + self.outputSize))
        nn.init.trunc_normal_(self.weightMatrix, mean=0, std=sigma, a=-3 * sigma, b=3 * sigma)

    def forward(self, inputTensor):
        return torch.matmul(inputTensor, torch.transpose(self.weightMatrix, 0, 1))


class EmbeddingLayer(nn.Module):
    def __init__(self, vocabSize, embedSize):
        super().__init__()
        self.embedMatrix = nn.Parameter(torch.zeros(vocabSize, embedSize))
        nn.init.trunc_normal_(self.embedMatrix, mean=0, std=1, a=-3, b=3)

    def forward(self, tokenIds):
        return self.embedMatrix[tokenIds]


class RMSNormLayer(nn.Module):
    def __init__(self, modelSize, epsilon=1e-5):
        super().__init__()
        self.epsilon = epsilon
        self.gainVector = nn.Parameter(torch.ones(modelSize))

    def forward(self, inputTensor):
        oldType = inputTensor.dtype
        inputTensor = inputTensor.to(torch.float32)
        meanSquare = torch.mean(torch.pow(inputTensor, 2), -1, keepdim=True)
        rms = torch.sqrt(meanSquare + self.epsilon)
        outputTensor = torch.div(inputTensor, rms) * self.gainVector
        return outputTensor.to(oldType)


def computeSilu(inputTensor):
    return inputTensor * torch.sigmoid(inputTensor)


class SwigluLayer(nn.Module):
    def __init__(self, modelSize, hiddenSize):
        super().__init__()
        self.layer1 = LinearLayer(modelSize, hiddenSize)
        self.layer2 = LinearLayer(hiddenSize, modelSize)
        self.layer3 = LinearLayer(modelSize, hiddenSize)

    def forward(self, inputTensor):
        gate = computeSilu(self.layer1(inputTensor))
        return self.layer2(gate * self.layer3(inputTensor))


def computeSoftmax(inputTensor, dim):
    maxValues = torch.max(inputTensor, dim=dim, keepdim=True).values
    expValues = torch.exp(inputTensor - maxValues)
    return expValues / torch.sum(expValues, dim=dim, keepdim=True)


def computeAttention(queries, keys, values, mask=None):
    scores = torch.matmul(queries, torch.transpose(keys, -1, -2)) / np.sqrt(queries.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, NEG)
    return torch.matmul(computeSoftmax(scores, -1), values)


class RopeLayer(nn.Module):
    def __init__(self, theta, headSize, maxLength):
        super().__init__()
        halfSize = headSize // 2
        exponent = torch.arange(halfSize, dtype=torch.float32) * 2 / headSize
        frequency = torch.exp(-exponent * np.log(theta))
        angle = torch.arange(maxLength).view(maxLength, 1) * frequency.view(1, halfSize)
        self.register_buffer("cosTable", torch.cos(angle), persistent=False)
        self.register_buffer("sinTable", torch.sin(angle), persistent=False)

    def forward(self, inputTensor, positions):
        cosValues, sinValues = self.cosTable[positions], self.sinTable[positions]
        evenPart, oddPart = inputTensor[..., 0::2], inputTensor[..., 1::2]
        newEven = evenPart * cosValues - oddPart * sinValues
        newOdd = evenPart * sinValues + oddPart * cosValues
        return torch.stack([newEven, newOdd], dim=-1).reshape(inputTensor.shape)


class AttentionLayer(nn.Module):
    def __init__(self, modelSize, numHeads, rope=None):
        super().__init__()
        self.numHeads = numHeads
        self.headSize = modelSize // numHeads
        self.queryLayer = LinearLayer(modelSize, modelSize)
        self.keyLayer = LinearLayer(modelSize, modelSize)
        self.valueLayer = LinearLayer(modelSize, modelSize)
        self.outputLayer = LinearLayer(modelSize, modelSize)
        self.rope = rope

    def toHeads(self, inputTensor):
        newShape = inputTensor.shape[:-1] + (self.numHeads, self.headSize)
        return inputTensor.reshape(newShape).transpose(-2, -3)

    def forward(self, inputTensor, positions=None):
        length = inputTensor.shape[-2]
        queries = self.toHeads(self.queryLayer(inputTensor))
        keys = self.toHeads(self.keyLayer(inputTensor))
        values = self.toHeads(self.valueLayer(inputTensor))
        if self.rope is not None:
            if positions is None:
                positions = torch.arange(length)
            positions = positions.unsqueeze(-2)
            queries = self.rope(queries, positions)
            keys = self.rope(keys, positions)
        causalMask = torch.tril(torch.ones(length, length)) == 1
        result = computeAttention(queries, keys, values, causalMask)
        result = result.transpose(-2, -3)
        return self.outputLayer(result.reshape(inputTensor.shape))


class BlockLayer(nn.Module):
    def __init__(self, modelSize, numHeads, hiddenSize, rope):
        super().__init__()
        self.norm1 = RMSNormLayer(modelSize)
        self.attention = AttentionLayer(modelSize, numHeads, rope)
        self.norm2 = RMSNormLayer(modelSize)
        self.feedForward = SwigluLayer(modelSize, hiddenSize)

    def forward(self, inputTensor):
        inputTensor = inputTensor + self.attention(self.norm1(inputTensor))
        return inputTensor + self.feedForward(self.norm2(inputTensor))


class LanguageModel(nn.Module):
    def __init__(self, vocabSize, maxLength, modelSize, numLayers, numHeads, hiddenSize, theta):
        super().__init__()
        rope = RopeLayer(theta, modelSize // numHeads, maxLength)
        self.embedding = EmbeddingLayer(vocabSize, modelSize)
        self.blocks = nn.ModuleList()
        for i in range(numLayers):
            self.blocks.append(BlockLayer(modelSize, numHeads, hiddenSize, rope))
        self.finalNorm = RMSNormLayer(modelSize)
        self.head = LinearLayer(modelSize, vocabSize)

    def forward(self, tokenIds):
        hidden = self.embedding(tokenIds)
        for block in self.blocks:
            hidden = block(hidden)
        return self.head(self.finalNorm(hidden))
